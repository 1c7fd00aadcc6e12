"""Names and documentation for functions that were found."""
