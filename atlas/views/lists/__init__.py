"""Lists of records: columns, hits, highlighting and rates."""
