"""Keyword search over any engine's keyword indexes."""
