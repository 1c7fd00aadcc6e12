"""Argument and result types of ledger engines: records, points in the history, and pending changes.

They are independent of the engine, so the code above is the same for all engines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import EmbeddingModelMismatch, InvalidInput
from atlas.core.operations import Marks, Usage, Use
from atlas.core.ranking.tuned import CONTEXT_SHARES
from atlas.core.types import Vector, Vectors
from atlas.embedding.chunking import EncodedText
from atlas.protocols.infra import Where

Seqs = npt.NDArray[np.int64]
"""Numbers of records, of shape (n,)."""


COPY_NOTE = "copy_begun"
"""Name of the ledger's note while it is filled with a copy: id and state of the source."""

PROJECTION = "late_interaction"
"""Name of the ledger's note on how token vectors are packed."""

DERIVED = "derived:"
"""Prefix of the ledger's notes with measurements of a collection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row of a collection."""

    id: str
    metadata: Mapping[str, Any]
    """Values to filter and sort by: texts, numbers, booleans, lists of them."""

    document: str
    """The text that was embedded."""

    vectors: Vectors | None
    """Shape (n_windows, dim), or None if it was read without them."""

    tokens: bytes | None = None
    """Packed vectors of the text's word pieces. None keeps the stored ones."""

    search_text: str = ""
    """Further text for keyword search, in addition to the document."""

    content: str = ""
    """The whole record as its component encodes it."""

    content_hash: str = ""
    """Hash of the content. Empty unless requested."""

    stored_at: str = ""
    """The time of its first storing, as ISO 8601.

    Where empty, a write keeps the time that it has, or sets the present one.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A change of one record, as a follower of the ledger reads it."""

    seq: int
    """The record's number, the same through edits, deletion and undo."""

    id: str
    revision: int
    n_windows: int
    """The most vectors it ever had."""

    vectors: Vectors
    """Shape (n_windows, dim), empty for a deleted record."""


@dataclass(frozen=True, slots=True)
class RecordDescription:
    """The id and metadata of a record, without its text."""

    id: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredHistory:
    """Marks and usage of a record in the store from which it was exported."""

    marks: Marks
    usage: Usage
    stored_at: str = ""
    """Time when it was originally stored, in ISO 8601, or empty for now."""

    uses: Sequence[Use] = ()
    """Oldest first. They are counted in the usage already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A merged record, and the records that it replaces."""

    kept_id: str
    embedding: npt.ArrayLike
    metadata: Mapping[str, Any]
    """Lists, under `merged_from`, the ids whose usage counts for the kept record while they are deleted."""

    document: str
    removed: Sequence[str]
    marks: Marks
    """Of the kept record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A record as it was before a change."""

    number: int
    """Of the change. One operation may have made several."""

    content: dict[str, Any]
    """The record as its memory encoded it."""

    replaced_at: datetime
    actor: str
    operation_id: str


REVIEW_KEY = "marks.held_for"
"""Filter key of the writer whose records wait for review."""

WAITING: Where = {REVIEW_KEY: {"$gt": ""}}
"""The filter of records that wait for review."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in a store's history. A restore changes the ledger's id, so earlier plans become invalid."""

    ledger_id: str = ""
    change: int = 0
    """The newest change that had been made."""


NO_MOMENT = Moment()
"""The moment of a store that keeps no history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDraft:
    """An operation that is about to write."""

    id: str
    kind: str
    actor: str
    reason: str = ""
    undoes: str | None = None
    is_reviewed: bool = False
    """True if its additions are pending until a curator accepts them. It may only add."""

    unchanged_since: Mapping[str, Moment] = field(default_factory=dict)
    """Moments by the ids of records. A write is refused if another operation has changed the record since."""


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest change of a ledger at some time, with a name that is unique among all histories."""

    number: int = 0
    name: str = ""
    """Its operation and its record."""


NO_TIP = Tip()
"""The tip of an empty ledger, or of a follower before its first read."""


@dataclass(frozen=True, slots=True)
class Position:
    """A point in a ledger's life. After a restore the ledger has another id, and its revisions begin again."""

    ledger_id: str
    revision: int
    model: tuple[str, int] | None = None
    """Name and dimension of the embedding model that the ledger is bound to then, or None if unknown."""

    tip: Tip = NO_TIP


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The records of a collection that a search may find."""

    passing: Seqs | None = None
    """None: all that `hidden` does not name."""

    hidden: Seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The log whose later records lend their words to earlier ones."""

    within: str
    """Metadata key that identifies the log of a record. The records of a log are ordered by `created_at`."""

    shares: tuple[float, ...] = CONTEXT_SHARES
    """Weights of the words of the next records, nearest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The keyword hits of a text."""

    values: Mapping[int, float]
    """BM25 by number of record, above 0 and higher for better. The best first."""

    information: float
    """Upper bound of a record's score: the sum of the weights of all terms.

    A term without records counts too, unless its parts are searched instead. Omitted terms do not count.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyContents:
    """The content of a copy of a ledger."""

    counts: Mapping[str, int]
    """Live records by collection."""

    model: str
    """The embedding model that it is bound to, or empty if there is no model."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a store."""

    name: str
    look: Callable[[], str]
    """Returns the problem, or an empty string."""

    mend: Callable[[], None] | None = None
    """None if only a person can decide on the remedy."""

    is_last: bool = False
    """True if the checks after it are skipped once it fails: reading may raise then, and a mend would write
    into the damage."""


SEPARATE_COLUMNS = ("content", "search_text", "content_hash")
"""Metadata in separate columns of the ledger: the whole record, additional searchable text, its hash."""


def as_records(
    ids: Sequence[str],
    embeddings: Sequence[npt.ArrayLike],
    metadatas: Sequence[dict[str, Any]],
    documents: Sequence[str],
    *,
    dimension: int,
) -> list[Record]:
    """Return columns of values as records.

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
            metadata={name: value for name, value in metadata.items() if name not in SEPARATE_COLUMNS},
            document=document,
            vectors=_as_windows(embedding, dimension),
            tokens=embedding.tokens if isinstance(embedding, EncodedText) else None,
            **{name: metadata[name] for name in SEPARATE_COLUMNS if name in metadata},
        )
        for record_id, embedding, metadata, document in zip(ids, embeddings, metadatas, documents, strict=True)
    ]


def as_row(record: Record) -> dict[str, Any]:
    """Return a record as callers get it: `id`, `metadata`, `document`, `stored_at` and, if read, `embedding`."""
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
    """Return a record's metadata with the values of separate columns, if they were read."""
    apart = {name: getattr(record, name) for name in SEPARATE_COLUMNS}
    return {**record.metadata, **{name: value for name, value in apart.items() if value}}


def as_vector(embedding: npt.ArrayLike, dimension: int) -> Vector:
    """Return an embedding as one vector of unit length."""
    windows = _as_windows(embedding, dimension)
    if len(windows) != 1:
        raise InvalidInput(f"a query should be one vector, but has {len(windows)}")
    vector: Vector = windows[0]
    return vector


def _as_windows(embedding: npt.ArrayLike, dimension: int) -> Vectors:
    try:
        with np.errstate(over="ignore"):  # an overflow is infinite, and refused as such
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


def mismatch(bound: tuple[str, int], embedder: tuple[str, int]) -> EmbeddingModelMismatch:
    """Return the error for a store and an embedder that do not belong together."""
    return EmbeddingModelMismatch(
        f"this store holds vectors of {bound[0]!r} ({bound[1]}-d), but the embedder is {embedder[0]!r} "
        f"({embedder[1]}-d). "
        f"Open it with ATLAS_EMBEDDING_MODEL={bound[0]}, or change the store: atlas reembed --model {embedder[0]}"
    )
