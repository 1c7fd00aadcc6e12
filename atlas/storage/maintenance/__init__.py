"""Maintenance of a whole store: backup, restore, checks, repairs, purges and re-embedding."""
