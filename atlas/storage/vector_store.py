"""The `VectorStore` over a ledger: durable, exact about filters, and undoable."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.settings import Settings
from atlas.core.types import NO_MARKS, Marks, QueryResult, Usage, Vector, Vectors
from atlas.protocols.infra import Where
from atlas.storage import usage
from atlas.storage.history import OperationDraft
from atlas.storage.ledger import Also, SqliteLedger
from atlas.storage.marks import MarksBook, check_marks
from atlas.storage.nearest import Found, Nearest
from atlas.storage.records import LedgerWriter, Record
from atlas.storage.usage import RetrievalLog

APART = ("content", "search_text", "content_hash")
"""Metadata that the ledger keeps in columns of its own: the whole record, more text to search, a hash of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was known of a record where it comes from."""

    marks: Marks
    usage: Usage
    stored_at: str = ""
    """When it was stored there, as ISO 8601; now, where empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """What the vector stores of one collection share."""

    name: str
    ledger: SqliteLedger
    marks: MarksBook
    nearest: Nearest
    retrievals: RetrievalLog
    settings: Settings
    model: str
    dimension: int


class LedgerVectorStore:
    """One collection of a store. `within` gives the same store with its writes joined into one operation."""

    def __init__(self, collection: Collection, operation: OperationDraft | None = None) -> None:
        self._collection = collection
        self._ledger = collection.ledger
        self._name = collection.name
        self._operation = operation

    def within(self, kind: str, reason: str = "") -> LedgerVectorStore:
        """This store, all of whose writes belong to one operation in the history."""
        return LedgerVectorStore(self._collection, self._draft(kind, reason))

    @property
    def operation_id(self) -> str | None:
        """The operation that `within` began; it is in the history once something was written."""
        return self._operation.id if self._operation else None

    async def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Write new records; they are durable, and found by every process, when this returns."""
        records = self._records(ids, embeddings, metadatas, documents)
        await asyncio.to_thread(self._add, records)

    async def add_unknown(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        restored: Mapping[str, Restored] = MappingProxyType({}),
    ) -> list[str]:
        """`add`, without those of which a record has the id, or one that another operation wrote the content hash.

        Args:
            restored: What to write with them, in the same transaction, by id; usage that the store has already is kept.

        Returns:
            The ids that were written.
        """
        records = [
            replace(record, stored_at=restored[record.id].stored_at) if record.id in restored else record
            for record in self._records(ids, embeddings, metadatas, documents)
        ]
        return await asyncio.to_thread(self._add_unknown, records, restored)

    async def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        *,
        unchanged_since: int | None = None,
    ) -> None:
        """Replace records; `NotFound` where one is not there, `PlanOutdated` where one has changed since a `moment`."""
        records = self._records(ids, embeddings, metadatas, documents)
        operation = self._operation or self._draft("edit")
        model = self._collection.model
        await asyncio.to_thread(
            self._ledger.update, self._name, records, operation, model=model, unchanged_since=unchanged_since
        )

    async def delete(self, ids: list[str]) -> int:
        """Remove records, keeping them in the history; how many there were."""
        operation = self._operation or self._draft("delete")
        return await asyncio.to_thread(self._ledger.remove, self._name, ids, operation)

    async def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """The records found, in the order of `ids`."""
        found = await asyncio.to_thread(self._ledger.get, self._name, ids)
        return [_row(found[record_id]) for record_id in ids if record_id in found]

    async def count(self, where: Where | None = None) -> int:
        """How many records pass a filter."""
        return await asyncio.to_thread(self._count, where)

    async def query(self, embedding: npt.ArrayLike, k: int, where: Where | None = None) -> QueryResult:
        """The k nearest records that pass a filter, without content; exactly those of ranking all that pass by hand."""
        return await asyncio.to_thread(self._query, self._as_vector(embedding), k, where)

    async def search_text(self, text: str, k: int, where: Where | None = None) -> QueryResult:
        """The k records that share the most telling words with a text, best first."""
        return await asyncio.to_thread(self._search_text, text, k, where)

    async def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Records in order, without vectors and content: `get` those that are looked at."""
        return await asyncio.to_thread(self._scan, where, order_by, descending, limit, offset)

    async def count_by(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """How many records hold each value of a metadata key, most frequent first."""
        return await asyncio.to_thread(self._count_by, key, where)

    async def vectors_of(self, documents: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of those of the texts that the store has embedded already."""
        return await asyncio.to_thread(self._ledger.vectors_of, documents)

    async def vectors(self) -> dict[str, Vectors]:
        """The vectors of every record, by id, each of shape (n_windows, dim)."""
        entries = await asyncio.to_thread(self._ledger.follow, self._name, 0)
        return {entry.id: entry.vectors for entry in entries if len(entry.vectors)}

    async def known_hashes(self, hashes: Sequence[str]) -> set[str]:
        """Those of the content hashes that some record has."""
        return await asyncio.to_thread(self._ledger.known_hashes, self._name, hashes)

    async def present(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that some record has."""
        return set(await asyncio.to_thread(self._ledger.get, self._name, ids, light=True))

    async def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """What agents did with each record; searches of the last half minute may be missing."""
        return await asyncio.to_thread(usage.read_usage, self._ledger, self._name, ids)

    async def record_use(self, record_id: str, success: bool, task_id: str = "") -> None:
        """Add one use of a record and how it went; `NotFound` where it is not there."""
        await asyncio.to_thread(self._record_use, record_id, success, task_id)

    async def note_retrievals(self, ids: Sequence[str]) -> None:
        """Count what a search returned; it is written in batches, one of which may be due now."""
        retrievals = self._collection.retrievals
        if retrievals.note(self._name, ids):
            await asyncio.to_thread(retrievals.flush)

    async def write_retrievals(self) -> None:
        """Write what `note_retrievals` has counted in this process, so that `usage` knows of it."""
        if not self._ledger.database.read_only:
            await asyncio.to_thread(self._collection.retrievals.flush)

    async def marks(self, ids: Sequence[str]) -> dict[str, Marks]:
        """What people have said of each record."""
        return await asyncio.to_thread(self._collection.marks.read, self._name, ids)

    async def mark(self, marks: Mapping[str, Marks]) -> None:
        """Say something of records, in place of what was said; `NotFound` where one is not there."""
        operation = self._operation or self._draft("mark")
        await asyncio.to_thread(self._collection.marks.write, self._name, marks, operation)

    async def moment(self) -> int:
        """This point in the history; give it to `delete_unchanged` or `update`."""
        return await asyncio.to_thread(self._ledger.moment)

    async def delete_unchanged(self, ids: Sequence[str], moment: int) -> int:
        """Remove records, unless one that was there at the moment has changed since; how many there were.

        Raises:
            PlanOutdated: One has; nothing was removed.
        """
        operation = self._operation or self._draft("delete")
        return await asyncio.to_thread(self._ledger.remove, self._name, ids, operation, unchanged_since=moment)

    def _record_use(self, record_id: str, success: bool, task_id: str) -> None:
        if not self._ledger.get(self._name, [record_id], light=True):
            raise NotFound(f"there is no record {record_id!r} in {self._name!r}; it may have been deleted")
        actor = self._collection.settings.actor
        usage.record_use(self._ledger, self._name, record_id, success, task_id=task_id, actor=actor)

    def _add(self, records: list[Record], *, skip_known: bool = False, also: Also | None = None) -> list[str]:
        operation, model = self._operation or self._draft("store"), self._collection.model
        added = self._ledger.add(self._name, records, operation, model=model, skip_known=skip_known, also=also)
        settings, nearest = self._collection.settings, self._collection.nearest
        if nearest.is_behind(settings.index_lag_rows):
            nearest.catch_up(timeout_seconds=0)
        return added

    def _add_unknown(self, records: list[Record], restored: Mapping[str, Restored]) -> list[str]:
        book = self._collection.marks
        check_marks({record_id: known.marks for record_id, known in restored.items()})

        def write_known(connection: sqlite3.Connection, writer: LedgerWriter, ids: list[str]) -> None:
            known = {record_id: restored[record_id] for record_id in ids if record_id in restored}
            marks = {record_id: given.marks for record_id, given in known.items() if given.marks != NO_MARKS}
            book.write_within(connection, writer, self._name, marks)
            usage.restore_usage(connection, self._name, {record_id: given.usage for record_id, given in known.items()})

        added = self._add(records, skip_known=True, also=write_known)
        book.settle()
        return added

    def _count(self, where: Where | None) -> int:
        return self._ledger.count(self._name, where)

    def _count_by(self, key: str, where: Where | None) -> dict[Any, int]:
        return self._ledger.count_by(self._name, key, where)

    def _query(self, vector: Vector, k: int, where: Where | None) -> QueryResult:
        nearest = self._collection.nearest
        if k <= 0:
            return self._result([])
        if not where:
            return self._result(nearest.query(vector, k))
        seqs = self._ledger.matching(self._name, where)
        return self._result(nearest.query_among(vector, k, seqs))

    def _search_text(self, text: str, k: int, where: Where | None) -> QueryResult:
        hits = self._ledger.search_text(self._name, text, k, where)
        return self._result([(seq, value / (1 + value)) for seq, value in hits])

    def _scan(
        self, where: Where | None, order_by: str, descending: bool, limit: int | None, offset: int
    ) -> list[dict[str, Any]]:
        records = self._ledger.scan(
            self._name, where, order_by=order_by, descending=descending, limit=limit, offset=offset
        )
        return [_row(record) for record in records]

    def _result(self, found: Found) -> QueryResult:
        records = self._ledger.at([seq for seq, _ in found])
        live = [(records[seq], similarity) for seq, similarity in found if seq in records]
        return QueryResult(
            ids=[record.id for record, _ in live],
            distances=[1.0 - similarity for _, similarity in live],
            metadatas=[_metadata(record) for record, _ in live],
            documents=[record.document for record, _ in live],
        )

    def _records(
        self, ids: list[str], embeddings: Sequence[npt.ArrayLike], metadatas: list[dict[str, Any]], documents: list[str]
    ) -> list[Record]:
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
                vectors=self._as_windows(embedding),
                **{name: metadata[name] for name in APART if name in metadata},
            )
            for record_id, embedding, metadata, document in zip(ids, embeddings, metadatas, documents, strict=True)
        ]

    def _as_vector(self, embedding: npt.ArrayLike) -> Vector:
        windows = self._as_windows(embedding)
        if len(windows) != 1:
            raise InvalidInput(f"a query should be one vector, but has {len(windows)}")
        vector: Vector = windows[0]
        return vector

    def _as_windows(self, embedding: npt.ArrayLike) -> Vectors:
        try:
            windows = np.atleast_2d(np.asarray(embedding, np.float32))
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"an embedding should be numbers, of shape (dim,) or (n_windows, dim): {error}"
            ) from error
        expected = self._collection.dimension
        if windows.ndim != 2 or windows.shape[1] != expected or not len(windows):
            raise InvalidInput(
                f"this store's vectors have {expected} dimensions, but an embedding has shape {windows.shape}"
            )
        lengths = np.linalg.norm(windows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise InvalidInput("an embedding should be finite and not all zero, or it has no direction to compare")
        scaled: Vectors = windows / lengths
        return scaled

    def _draft(self, kind: str, reason: str = "") -> OperationDraft:
        return self._ledger.draft(kind, actor=self._collection.settings.actor, reason=reason)


def _row(record: Record) -> dict[str, Any]:
    row = {
        "id": record.id,
        "metadata": _metadata(record),
        "document": record.document,
        "stored_at": record.stored_at,
    }
    if record.vectors is not None:
        row["embedding"] = record.vectors[0] if len(record.vectors) == 1 else record.vectors
    return row


def _metadata(record: Record) -> dict[str, Any]:
    apart = {name: getattr(record, name) for name in APART}
    return {**record.metadata, **{name: value for name, value in apart.items() if value}}
