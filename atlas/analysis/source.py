"""The former path of `atlas.maps.snapshot`, kept for one release."""

from atlas.maps.snapshot import Embedded, read_embedded

__all__ = ["Embedded", "read_embedded"]
