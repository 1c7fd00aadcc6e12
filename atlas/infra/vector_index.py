"""The index protocol, importable from the path that the specification of ATLAS names."""

from atlas.protocols.infra import VectorIndex

__all__ = ["VectorIndex"]
