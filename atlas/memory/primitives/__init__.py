"""Loaders of primitives, at the import paths of the specifications."""

from atlas.memory.primitives.arc import ARCPrimitiveLoader
from atlas.memory.primitives.swe import SWEPrimitiveLoader
from atlas.protocols.strategies import PrimitiveLoader

__all__ = ["ARCPrimitiveLoader", "PrimitiveLoader", "SWEPrimitiveLoader"]
