"""Work on a whole store: backup and restore, checks and repairs, erasing for good, and embedding again."""
