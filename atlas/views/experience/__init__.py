"""The Experience page."""
