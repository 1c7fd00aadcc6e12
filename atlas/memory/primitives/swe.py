"""Loader of the software engineering primitives, at the import path of the specifications."""

from atlas.primitives.swe.loader import SWEPrimitiveLoader

__all__ = ["SWEPrimitiveLoader"]
