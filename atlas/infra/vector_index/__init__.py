"""Nearest-neighbour indexes: exact in memory, and ChromaDB on disk."""
