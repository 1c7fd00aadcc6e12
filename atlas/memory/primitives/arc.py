"""Loader of ARC's primitives, at the import path of the specifications."""

from atlas.primitives.arc.loader import ARCPrimitiveLoader

__all__ = ["ARCPrimitiveLoader"]
