"""Keyword search over the keyword tables of any engine."""
