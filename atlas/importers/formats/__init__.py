"""Formats of other programs' logs, one in each file."""
