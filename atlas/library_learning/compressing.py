"""The former path of `atlas.learning.compression`, kept for one release."""

from atlas.learning.compression import Compression, Library, compress

__all__ = ["Compression", "Library", "compress"]
