"""Argument and result types of ledger engines: records, points in the history, and pending changes.

The types are independent of the engine, so the code above is the same for all engines.
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
"""Name of the ledger's note about a copy in progress: id and state of the source."""

PROJECTION = "late_interaction"
"""Name of the ledger's note on how token vectors are packed."""

MEASUREMENTS = "derived:"
"""Prefix of the ledger's notes with measurements of a collection's relevance level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row of a collection."""

    id: str
    metadata: Mapping[str, Any]
    """Values to filter and sort by: texts, numbers, booleans, lists of them."""

    document: str
    """The text that was embedded."""

    vectors: Vectors | None
    """Shape (n_windows, dim), or None if the vectors were not read."""

    tokens: bytes | None = None
    """Packed vectors of the text's word pieces. None keeps the stored ones."""

    search_text: str = ""
    """Further text for keyword search, in addition to the document."""

    content: str = ""
    """The whole record, as encoded by its memory."""

    content_hash: str = ""
    """Hash of the content, or empty if it was not read."""

    stored_at: str = ""
    """Time when the record was first stored, as ISO 8601.

    If empty, a write keeps the stored time, or sets the current time for a new record.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorChange:
    """The current vectors of a changed record, for updating an index."""

    seq: int
    """The record's number, the same through edits, deletion and undo."""

    id: str
    revision: int
    n_windows: int
    """Highest number of vectors that the record has had."""

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
    """Time when the record was originally stored, in ISO 8601, or empty for now."""

    uses: Sequence[Use] = ()
    """Oldest first. The usage includes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A merged record, and the records that it replaces."""

    kept_id: str
    embedding: npt.ArrayLike
    metadata: Mapping[str, Any]
    """The kept record's metadata. `merged_from` lists the deleted records whose usage counts for the kept one."""

    document: str
    removed: Sequence[str]
    marks: Marks
    """Marks of the kept record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A record as it was before a change."""

    number: int
    """Number of the change. An operation may contain several changes."""

    content: dict[str, Any]
    """The record as its memory encoded it."""

    replaced_at: datetime
    actor: str
    operation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The actors who stored, edited and accepted a record."""

    kind: str
    """Kind of the operation that added the record, such as `import`."""

    actor: str
    is_accepted: bool = False
    """True if the record was accepted in review."""

    last_editor: str = ""
    """Name of the actor who last edited the record since it was stored or accepted, or empty."""


REVIEW_KEY = "marks.held_for"
"""Filter key of the writer whose records wait for review."""

IS_WAITING: Where = {REVIEW_KEY: {"$gt": ""}}
"""The filter of records that wait for review."""


QUARANTINE = "marks.quarantine"
"""Filter key of the reason why a record is in quarantine."""

IS_QUARANTINED: Where = {QUARANTINE: {"$gt": ""}}
"""The filter of records in quarantine."""

IS_NOT_QUARANTINED: Where = {QUARANTINE: ""}
"""The filter of records that agents may read."""

IS_NOT_TRUSTED: Where = {"$or": [IS_WAITING, IS_QUARANTINED]}
"""Filter of records from which nothing is learned: they wait for review, or are in quarantine."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in a store's history. A restore changes the ledger's id, so earlier plans become invalid."""

    ledger_id: str = ""
    change: int = 0
    """Number of the newest change."""


NO_MOMENT = Moment()
"""The moment of a store that keeps no history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDraft:
    """The operation to which a write belongs. Its first change adds it to the history."""

    id: str
    kind: str
    actor: str
    reason: str = ""
    undoes: str | None = None
    is_reviewed: bool = False
    """True if the operation's additions wait until a curator accepts them. Such an operation only adds."""

    changes_own_only: bool = False
    """True if the operation may change only records that its actor stored."""

    unchanged_since: Mapping[str, Moment] = field(default_factory=dict)
    """Moments, keyed by record id. A write is refused if another operation has changed the record since its moment."""


@dataclass(frozen=True, slots=True)
class ChangeId:
    """A change in a ledger's history, identified by its number and a name that is unique among all ledgers."""

    number: int = 0
    name: str = ""
    """The id of the change's operation, and the id of the changed record."""


NO_CHANGE = ChangeId()
"""The newest change of an empty ledger, or of a follower before its first read."""


@dataclass(frozen=True, slots=True)
class Position:
    """A revision of a ledger. After a restore, the ledger has another id, and its revisions start again."""

    ledger_id: str
    revision: int
    model: tuple[str, int] | None = None
    """Name and dimension of the ledger's embedding model at this position, or None if unknown."""

    newest_change: ChangeId = NO_CHANGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The records of a collection that a search may return."""

    passing: Seqs | None = None
    """Records that pass the filter, or None for all records except the hidden ones."""

    hidden: Seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Settings with which a keyword search also finds a record by the words of the next records in its log."""

    log_key: str
    """Metadata key that identifies the log of a record. The records of a log are ordered by `created_at`."""

    shares: tuple[float, ...] = CONTEXT_SHARES
    """Weights of the words of the next records, nearest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The keyword hits of a text."""

    values: Mapping[int, float]
    """BM25 scores by record number, best first. All are above 0."""

    information: float
    """Upper bound of a record's score: the sum of the weights of all terms.

    The bound includes terms without records, unless their parts are searched instead, but not omitted terms.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyContents:
    """The content of a copy of a ledger."""

    counts: Mapping[str, int]
    """Live records by collection."""

    model: str
    """The embedding model of the copy, or empty if there is no model."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a store."""

    name: str
    run: Callable[[], str]
    """Returns the problem, or an empty string."""

    repair: Callable[[], None] | None = None
    """None if only a person can decide on the remedy."""

    stops_on_failure: bool = False
    """True if a failure skips all later checks, because these could raise or add to the damage."""


SEPARATE_COLUMNS = ("content", "search_text", "content_hash")
"""Metadata in separate columns of the ledger: the encoded record, additional searchable text, hash of the content."""


def as_records(
    ids: Sequence[str],
    embeddings: Sequence[npt.ArrayLike],
    metadatas: Sequence[dict[str, Any]],
    documents: Sequence[str],
    *,
    dimension: int,
) -> list[Record]:
    """Return the records described by parallel lists: one for each field.

    Args:
        embeddings: One for each record, of shape (dim,) or (n_windows, dim). Vectors are scaled to unit length.

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
    """Return a record as a dict of `id`, `metadata`, `document`, `stored_at` and, if read, `embedding`."""
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
    """Return a record's metadata, including the `SEPARATE_COLUMNS` that were read."""
    return {**record.metadata, **{name: value for name in SEPARATE_COLUMNS if (value := getattr(record, name))}}


def as_vector(embedding: npt.ArrayLike, dimension: int) -> Vector:
    """Return an embedding as one vector of unit length."""
    windows = _as_windows(embedding, dimension)
    if len(windows) != 1:
        raise InvalidInput(f"expected one vector for a query, got {len(windows)}; search with each vector separately")
    vector: Vector = windows[0]
    return vector


def _as_windows(embedding: npt.ArrayLike, dimension: int) -> Vectors:
    """Return an embedding as vectors of unit length, shape (n_windows, dim), or raise `InvalidInput`."""
    try:
        with np.errstate(over="ignore"):  # overflows become infinite, and raise below
            windows = np.atleast_2d(np.asarray(embedding, np.float32))
            lengths = np.linalg.norm(windows, axis=-1, keepdims=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"expected numbers of shape (dim,) or (n_windows, dim) for an embedding, got {embedding!r:.80} "
            f"({error}); use the store's embedder"
        ) from error
    if windows.ndim != 2 or windows.shape[1] != dimension or not len(windows):
        raise InvalidInput(
            f"expected an embedding of {dimension} dimensions, got shape {windows.shape}; use the store's embedder"
        )
    if not np.isfinite(lengths).all():
        raise InvalidInput("expected finite numbers for an embedding, got NaN or infinity; use the store's embedder")
    if not lengths.all():
        raise InvalidInput("expected an embedding with a number other than 0, got only zeros; use the store's embedder")
    scaled: Vectors = windows / lengths
    return scaled


def model_mismatch(bound: tuple[str, int], embedder: tuple[str, int]) -> EmbeddingModelMismatch:
    """Return the error for a store that is bound to another model than the embedder's."""
    return EmbeddingModelMismatch(
        f"this store has vectors of {bound[0]!r} ({bound[1]}-d), but the embedder is {embedder[0]!r} "
        f"({embedder[1]}-d). "
        f"Open it with ATLAS_EMBEDDING_MODEL={bound[0]}, or change the store: atlas reembed --model {embedder[0]}"
    )
