"""The bundled model in onnxruntime, from the graph in this folder and the published weights."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from atlas.core.errors import EmbeddingUnavailable
from atlas.embedding.choice import BUNDLED, model_files
from atlas.embedding.late_interaction import Projection, parse_projection
from atlas.embedding.onnx_encoder import METADATA, OnnxEncoder, UnloadableExport

DIRECTORY = Path(__file__).parent
TENSORS = "model.safetensors"
"""File of the weights. The graph refers to offsets in it, so onnxruntime can memory-map it."""

PROJECTION = "projection.json"


def bundled_encoder(batch_size: int) -> OnnxEncoder:
    """Return the bundled model, loaded.

    Raises:
        EmbeddingUnavailable: The weights are missing, or are not those that the graph was exported with.
    """
    weights = (bundled_files() / TENSORS).resolve().parent  # onnxruntime follows no links out of a directory
    expected, actual = _read_metadata()["weights"], weights_fingerprint(weights / TENSORS)
    if actual != expected:
        raise EmbeddingUnavailable(
            f"expected the weights {expected} of {BUNDLED} in {weights / TENSORS}, got {actual}; install ATLAS again"
        )
    try:
        return OnnxEncoder(DIRECTORY, batch_size, weights=weights)
    except UnloadableExport as error:
        raise EmbeddingUnavailable(
            f"the bundled model {BUNDLED} cannot be loaded ({error}); install ATLAS and onnxruntime again"
        ) from error


def bundled_files() -> Path:
    """Return the directory of the bundled model's weights and tokenizer.

    Raises:
        EmbeddingUnavailable: The files are missing.
    """
    files = model_files(BUNDLED)
    assert files is not None
    return files


def bundled_projection() -> Projection:
    """Return the projection of the bundled model's word pieces."""
    return _projection()


def weights_fingerprint(file: Path) -> dict[str, Any]:
    """Return the fingerprint of a safetensors file: its size in bytes, and the SHA-256 of its header."""
    with file.open("rb") as stream:
        start = stream.read(8)
        table = stream.read(min(struct.unpack("<Q", start)[0], 10_000_000)) if len(start) == 8 else b""
    return {"bytes": file.stat().st_size, "table": hashlib.sha256(table).hexdigest()}


@cache
def _projection() -> Projection:
    text = (DIRECTORY / PROJECTION).read_text(encoding="ascii")
    return parse_projection(text, _read_metadata()["dimension"])


def _read_metadata() -> Mapping[str, Any]:
    metadata: Mapping[str, Any] = json.loads((DIRECTORY / METADATA).read_text(encoding="utf-8"))
    return metadata
