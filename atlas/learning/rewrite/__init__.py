"""Putting found functions into programs, and dropping those that save nothing."""
