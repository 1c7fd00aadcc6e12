"""The Ask page."""
