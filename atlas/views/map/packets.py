"""Bytes for the map's renderer, and the renderer itself. The app and the exported page use both."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.views.shared.browser import asset

Bits = npt.NDArray[np.bool_]
"""Shape (n,): one boolean for each point of the map."""

RENDERER = (
    "map_shared",
    "map_colours",
    "map_points",
    "map_camera",
    "map_overlay",
    "map_contours",
    "map_areas",
    "map_labels",
    "map_titles",
    "map_marks",
    "map_pulse",
    "map_selection",
    "map_pointer",
    "map_keys",
    "map_tools",
    "map_legend",
    "map_days",
    "map_replay",
    "map",
)
"""Scripts of the renderer, one part each. They share one scope."""

_KINDS = {np.dtype(np.float32): "f4", np.dtype(np.uint16): "u2", np.dtype(np.uint8): "u1"}


def pack(layer: Mapping[str, Any], **arrays: npt.NDArray[Any]) -> bytes:
    """Return a layer of the map: the length of its JSON, the JSON, then the arrays, each at a multiple of four.

    Args:
        layer: JSON values, which are shown as text only.
        arrays: Arrays of float32, uint16 or uint8, laid out flat.
    """
    blobs = [np.ascontiguousarray(array) for array in arrays.values()]
    lengths = [blob.nbytes + -blob.nbytes % 4 for blob in blobs]
    room = 2_048 + 64 * len(blobs)  # what listing the arrays may take; unused room is filled with spaces
    plain = json.dumps(dict(layer), ensure_ascii=False, separators=(",", ":")).encode()
    start = 4 + len(plain) + room
    start += -start % 4
    starts = [start + sum(lengths[:number]) for number in range(len(blobs))]
    listed = [[name, _KINDS[b.dtype], at, b.size] for name, b, at in zip(arrays, blobs, starts, strict=True)]
    text = json.dumps({**layer, "arrays": listed}, ensure_ascii=False, separators=(",", ":")).encode()
    head = struct.pack("<I", start - 4) + text.ljust(start - 4)
    return head + b"".join(blob.tobytes().ljust(length, b"\0") for blob, length in zip(blobs, lengths, strict=True))


def fingerprint(*parts: bytes) -> str:
    """Return a name for exactly this content, 16 characters long."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:16]


def mask_text(bits: Bits) -> str:
    """Return one bit a point, lowest bit first, in base64: 17 KB for 100,000 points."""
    return base64.b64encode(np.packbits(bits, bitorder="little").tobytes()).decode()


def mask_bits(text: str, n: int) -> Bits:
    """Return the bits of a mask. A browser's text is untrusted, so any input results in n bits."""
    try:
        packed = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    except ValueError:
        packed = np.zeros(0, np.uint8)
    bits = np.zeros(n, np.bool_)
    mask = np.unpackbits(packed, bitorder="little")[:n].astype(np.bool_)
    bits[: len(mask)] = mask
    return bits


def renderer_script() -> str:
    """Return the renderer, which defines `mountMap` and `unpack`."""
    return "".join(asset(f"{part}.js") for part in RENDERER)


def component_script() -> str:
    """Return the renderer as the module of a Streamlit component."""
    return renderer_script() + asset("map_component.js")


def frame_stylesheet() -> str:
    """Return the CSS of the page around the map. It keeps the map in view beside a long panel and in full screen."""
    return asset("map_frame.css")


def layer_script() -> str:
    """Return the module of an invisible component that passes its data to the map."""
    return asset("map_layer.js")


def stylesheet() -> str:
    """Return the renderer's styles. They follow the page's theme."""
    return asset("map.css")
