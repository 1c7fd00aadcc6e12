"""Nouns and seams that every other part builds on: types, errors, settings, text and JSON."""
