"""The protocol of an index at the path that the specifications give it."""

from atlas.protocols.infra import VectorIndex

__all__ = ["VectorIndex"]
