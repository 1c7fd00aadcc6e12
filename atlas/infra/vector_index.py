"""The index protocol, at its specified import path."""

from atlas.protocols.infra import VectorIndex

__all__ = ["VectorIndex"]
