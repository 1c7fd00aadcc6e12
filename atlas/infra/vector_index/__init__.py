"""Nearest-neighbour indexes: exact in memory, and ChromaDB on disk."""

from atlas.protocols.infra import VectorIndex

__all__ = ["VectorIndex"]
