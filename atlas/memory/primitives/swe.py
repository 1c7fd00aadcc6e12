"""The loader of software engineering's primitives at the path that the specifications give it."""

from atlas.primitives.swe.loader import SWEPrimitiveLoader

__all__ = ["SWEPrimitiveLoader"]
