"""Formats of the logs that people have of agents at work."""
