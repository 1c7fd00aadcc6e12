"""The former path of `atlas.maps.map`, kept for one release."""

from atlas.maps.map import MapRecipe, MemoryMap, make_map

__all__ = ["MapRecipe", "MemoryMap", "make_map"]
