"""The loaders of primitives at the paths that the specifications give them."""

from atlas.memory.primitives.arc import ARCPrimitiveLoader
from atlas.memory.primitives.swe import SWEPrimitiveLoader
from atlas.protocols.strategies import PrimitiveLoader

__all__ = ["ARCPrimitiveLoader", "PrimitiveLoader", "SWEPrimitiveLoader"]
