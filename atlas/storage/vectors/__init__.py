"""Nearest-neighbour search: exact in memory, and ChromaDB on disk."""
