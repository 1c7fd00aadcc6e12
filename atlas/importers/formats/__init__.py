"""One file for each format of other programs' logs."""
