"""The Strategies page."""
