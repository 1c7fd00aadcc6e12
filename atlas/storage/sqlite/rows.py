"""What callers give and get, as the ledger's records and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.types import Vector, Vectors
from atlas.storage.records import Record

APART = ("content", "search_text", "content_hash")
"""Metadata that the ledger keeps in columns of its own: the whole record, more text to search, a hash of it."""


def as_records(
    ids: Sequence[str],
    embeddings: Sequence[npt.ArrayLike],
    metadatas: Sequence[dict[str, Any]],
    documents: Sequence[str],
    *,
    dimension: int,
) -> list[Record]:
    """Columns of values as records.

    Raises:
        InvalidInput: The columns differ in length, or an embedding is not of this dimension.
    """
    lengths = {len(ids), len(embeddings), len(metadatas), len(documents)}
    if len(lengths) != 1:
        raise InvalidInput(
            f"expected as many embeddings, metadatas and documents as ids, but got {len(ids)} ids, "
            f"{len(embeddings)} embeddings, {len(metadatas)} metadatas and {len(documents)} documents"
        )
    return [
        Record(
            id=record_id,
            metadata={name: value for name, value in metadata.items() if name not in APART},
            document=document,
            vectors=_as_windows(embedding, dimension),
            **{name: metadata[name] for name in APART if name in metadata},
        )
        for record_id, embedding, metadata, document in zip(ids, embeddings, metadatas, documents, strict=True)
    ]


def as_row(record: Record) -> dict[str, Any]:
    """A record as callers get it: `id`, `metadata`, `document`, `stored_at`, and `embedding` where it was read."""
    row = {
        "id": record.id,
        "metadata": as_metadata(record),
        "document": record.document,
        "stored_at": record.stored_at,
    }
    if record.vectors is not None:
        row["embedding"] = record.vectors[0] if len(record.vectors) == 1 else record.vectors
    return row


def as_metadata(record: Record) -> dict[str, Any]:
    """A record's metadata with what the ledger keeps apart, where it was read."""
    apart = {name: getattr(record, name) for name in APART}
    return {**record.metadata, **{name: value for name, value in apart.items() if value}}


def as_vector(embedding: npt.ArrayLike, dimension: int) -> Vector:
    """An embedding as one vector of unit length."""
    windows = _as_windows(embedding, dimension)
    if len(windows) != 1:
        raise InvalidInput(f"a query should be one vector, but has {len(windows)}")
    vector: Vector = windows[0]
    return vector


def _as_windows(embedding: npt.ArrayLike, dimension: int) -> Vectors:
    try:
        with np.errstate(over="ignore"):  # what overflows is infinite, and refused as such
            windows = np.atleast_2d(np.asarray(embedding, np.float32))
            lengths = np.linalg.norm(windows, axis=-1, keepdims=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"an embedding should be numbers, of shape (dim,) or (n_windows, dim): {error}") from error
    if windows.ndim != 2 or windows.shape[1] != dimension or not len(windows):
        raise InvalidInput(
            f"this store's vectors have {dimension} dimensions, but an embedding has shape {windows.shape}"
        )
    if not np.isfinite(lengths).all() or not lengths.all():
        raise InvalidInput("an embedding should be finite and not all zero, or it has no direction to compare")
    scaled: Vectors = windows / lengths
    return scaled
