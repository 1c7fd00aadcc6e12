"""The loader of ARC's primitives at the path that the specifications give it."""

from atlas.primitives.arc.loader import ARCPrimitiveLoader

__all__ = ["ARCPrimitiveLoader"]
