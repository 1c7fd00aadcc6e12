"""The Journal page."""
