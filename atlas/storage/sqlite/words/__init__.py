"""Keyword search over SQLite's full-text index."""
