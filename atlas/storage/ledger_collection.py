"""One collection of a ledger: durable, exact about filters, and undoable."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from atlas.core.errors import NotFound
from atlas.core.hits import Candidates, QueryResult
from atlas.core.operations import NO_MARKS, Marks, TrashedRecord, Usage, Use
from atlas.core.types import Vector, Vectors
from atlas.protocols.infra import Where
from atlas.protocols.strategies import SuccessRateUpdater
from atlas.storage import hybrid_search as searching
from atlas.storage.collection import Collection
from atlas.storage.marks.book import check_marks
from atlas.storage.parts import CollectionParts
from atlas.storage.records import Merge, Moment, OperationDraft, Record, Restored, Version
from atlas.storage.sqlite import columns, usage
from atlas.storage.sqlite.history import merge as merging
from atlas.storage.sqlite.history import trash
from atlas.storage.sqlite.history.operations import check_records_unchanged, check_unchanged
from atlas.storage.sqlite.history.tombstones import read_purged
from atlas.storage.sqlite.history.versions import read_versions
from atlas.storage.sqlite.key_value import keep, read_kept
from atlas.storage.sqlite.ledger import Also
from atlas.storage.sqlite.records import LedgerWriter
from atlas.storage.sqlite.rows import as_records, as_row, as_vector
from atlas.storage.vector_store import LedgerVectorStore
from atlas.storage.vectors import similarities


class LedgerCollection(Collection):
    """One collection of a store."""

    keeps_uses = True

    def __init__(self, parts: CollectionParts, operation: OperationDraft | None = None) -> None:
        self.parts = parts
        self._ledger = parts.ledger
        self._name = parts.name
        self._operation = operation

    @property
    def vector_store(self) -> LedgerVectorStore:
        """The same records as the specification's vector store."""
        return LedgerVectorStore(self)

    def within(self, kind: str, reason: str = "", operation_id: str | None = None) -> LedgerCollection:
        """This store, all of whose writes belong to one operation in the history: a new one, or one that was begun."""
        draft = self._draft(kind, reason)
        return LedgerCollection(self.parts, replace(draft, id=operation_id) if operation_id else draft)

    @property
    def operation_id(self) -> str | None:
        """The operation that `within` began; it is in the history once something was written."""
        return self._operation.id if self._operation else None

    def kept(self) -> dict[str, str]:
        """The texts that are kept beside the records, by name."""
        return read_kept(self._ledger, self._name)

    def keep(self, name: str, text: str) -> None:
        """Keep a text beside the records, which is no operation; it is durable when this returns."""
        keep(self._ledger, self._name, name, text)

    def reading(self) -> AbstractContextManager[object]:
        """Return a block inside of which everything that this thread reads is of one state of the store."""
        return self._ledger.database.read()

    def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Write new records; they are durable, and found by every process, when this returns."""
        records = self._records(ids, embeddings, metadatas, documents)
        self._add(records)

    def add_unknown(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        restored: Mapping[str, Restored] = MappingProxyType({}),
        *,
        alone_in: str = "",
    ) -> list[str]:
        """`add`, without those of which a record has the id, or one that another operation wrote the content hash.

        Args:
            restored: What to write with them, in the same transaction, by id; usage that the store has already is kept.
            alone_in: A metadata key of which no other record may have the value that one of these has.

        Returns:
            The ids that were written.

        Raises:
            PlanOutdated: Another record has the same value of `alone_in`; nothing was written.
        """
        records = [
            replace(record, stored_at=restored[record.id].stored_at) if record.id in restored else record
            for record in self._records(ids, embeddings, metadatas, documents)
        ]
        return self._add_unknown(records, restored, alone_in)

    def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        *,
        unchanged_since: Moment | None = None,
        dropped: Sequence[str] = (),
    ) -> None:
        """Replace records; `NotFound` where one is not there, `PlanOutdated` where one has changed since a `moment`.

        Args:
            dropped: Records that go besides, in the same transaction, where they are there.
        """
        records = self._records(ids, embeddings, metadatas, documents)
        operation = self._operation or self._draft("edit")
        model = self.parts.model
        self._ledger.update(
            self._name, records, operation, model=model, unchanged_since=unchanged_since, dropped=dropped
        )

    def delete(self, ids: list[str]) -> int:
        """Remove records, keeping them in the history; how many there were."""
        operation = self._operation or self._draft("delete")
        return self._ledger.remove(self._name, ids, operation)

    def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """The records found, in the order of `ids`."""
        found = self._ledger.get(self._name, ids)
        return [as_row(found[record_id]) for record_id in ids if record_id in found]

    def peek(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """The records found, as `get` gives them, but without vectors and content."""
        found = self._ledger.get(self._name, ids, light=True)
        return [as_row(found[record_id]) for record_id in ids if record_id in found]

    def count(self, where: Where | None = None) -> int:
        """How many records pass a filter."""
        return self._ledger.count(self._name, where)

    def is_empty(self) -> bool:
        """Whether there is no record; it looks no further than the first."""
        return not self._ledger.holds_more_than(self._name, 0)

    def query(
        self, embedding: npt.ArrayLike, k: int, where: Where | None = None, *, with_buried: bool = True
    ) -> QueryResult:
        """The k nearest records that pass a filter, without content; exactly those of ranking all that pass by hand."""
        vector = as_vector(embedding, self.parts.dimension)
        return searching.by_vector(self.parts, vector, k, where, with_buried)

    def similarities(self, n: int) -> tuple[Vector, Vector]:
        """Cosines of pairs of some n records, and of each of them with the nearest record that says something else."""
        return similarities.sample(self.parts, n)

    def first_vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """The vector of each record as a whole, by id."""
        return similarities.first_vectors(self.parts, ids)

    def search_text(
        self, text: str, k: int, where: Where | None = None, *, with_buried: bool = True, as_typed: bool = False
    ) -> QueryResult:
        """The k records that share the most telling words with a text, best first.

        Args:
            as_typed: Whether the last word may be the beginning of one, and records have to hold what is quoted.
        """
        return searching.by_words(self.parts, text, k, where, with_buried, as_typed)

    def candidates(
        self,
        embedding: npt.ArrayLike | None,
        text: str | None,
        n: int,
        where: Where | None = None,
        *,
        with_buried: bool = True,
    ) -> Candidates:
        """The n nearest records that pass a filter and the n that hold the most telling words, each with both values.

        Args:
            embedding: None to search by words alone.
            text: None to search by vector alone.
        """
        vector = None if embedding is None else as_vector(embedding, self.parts.dimension)
        return searching.candidates(self.parts, vector, text, n, where, with_buried)

    def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Records in order, without vectors and content: `get` those that are looked at."""
        records = self._ledger.scan(
            self._name, where, order_by=order_by, descending=descending, limit=limit, offset=offset
        )
        return [as_row(record) for record in records]

    def count_by(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """How many records hold each value of a metadata key, most frequent first."""
        return self._ledger.count_by(self._name, key, where)

    def ids(self, where: Where | None = None) -> list[str]:
        """The ids of the records that pass a filter, as they were added."""
        return columns.read_ids(self._ledger, self._name, where)

    def column(self, key: str, where: Where | None = None) -> dict[str, Any]:
        """The value of a metadata key, of `marks.…` or of `usage.…`, by id, of the records that have it."""
        if key.startswith("marks."):
            ids = self.ids(where)
            return self.parts.marks.column(self._name, key, ids)
        return columns.read_column(self._ledger, self._name, key, where)

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """The titles of those of the records that are there."""
        return columns.read_titles(self._ledger, self._name, ids)

    def counts_by_day(self, where: Where | None = None) -> dict[str, dict[str, int]]:
        """How many records each day has, by outcome."""
        return columns.read_days(self._ledger, self._name, where)

    def vectors_of(self, documents: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of those of the texts that the store has embedded already."""
        return self._ledger.vectors_of(documents)

    def vectors(self) -> dict[str, Vectors]:
        """The vectors of every record, by id, each of shape (n_windows, dim)."""
        entries = self._ledger.follow(self._name, 0)
        return {entry.id: entry.vectors for entry in entries if len(entry.vectors)}

    def known_hashes(self, hashes: Sequence[str]) -> dict[str, str]:
        """Those of the content hashes that some record has, or stands for, each with the id of one."""
        return self._ledger.known_hashes(self._name, hashes)

    def present(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that some record has."""
        return set(self._ledger.get(self._name, ids, light=True))

    def purged(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids whose records were purged: no record may have them."""
        return read_purged(self._ledger.database, self._name, ids)

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """What agents did with each record; searches of the last half minute may be missing."""
        return usage.read_usage(self._ledger, self._name, ids)

    def record_use(
        self,
        record_id: str,
        success: bool,
        task_id: str = "",
        trajectory_id: str = "",
        *,
        updater: SuccessRateUpdater | None = None,
    ) -> None:
        """Add one use of a record and how it went, of an attempt once; rates follow from the uses."""
        if not self._ledger.get(self._name, [record_id], light=True):
            raise NotFound(f"there is no record {record_id!r} in {self._name!r}; it may have been deleted")
        usage.record_use(
            self._ledger,
            self._name,
            record_id,
            success,
            task_id=task_id,
            trajectory_id=trajectory_id,
            actor=self.parts.settings.actor,
            operation_id=self.operation_id or "",
        )

    def uses(self, ids: Sequence[str]) -> dict[str, list[Use]]:
        """Each use of each record, and of those that were merged into it, oldest first."""
        return usage.read_uses(self._ledger, self._name, ids)

    def note_retrievals(self, ids: Sequence[str]) -> None:
        """Count what a search returned; it is written in batches, one of which may be due now."""
        retrievals = self.parts.retrievals
        if retrievals.note(self._name, ids):
            retrievals.flush()

    def write_retrievals(self) -> None:
        """Write what `note_retrievals` has counted in this process, so that `usage` knows of it."""
        if not self._ledger.database.read_only:
            self.parts.retrievals.flush()

    def marks(self, ids: Sequence[str]) -> dict[str, Marks]:
        """What people have said of each record."""
        return self.parts.marks.read(self._name, ids)

    def mark(self, marks: Mapping[str, Marks]) -> None:
        """Say something of records, in place of what was said; `NotFound` where one is not there."""
        operation = self._operation or self._draft("mark")
        self.parts.marks.write(self._name, marks, operation)

    def change_marks(self, ids: Sequence[str], change: Callable[[Marks], Marks]) -> int:
        """Set records' marks to what a function makes of them; how many that changed."""
        operation = self._operation or self._draft("mark")
        return self.parts.marks.change(self._name, ids, change, operation)

    def versions(self, record_id: str) -> list[Version]:
        """What a record said before each edit, the last first."""
        return read_versions(self._ledger, self._name, record_id)

    def moment(self) -> Moment:
        """This point in the history; give it to `delete_unchanged` or `update`."""
        return self._ledger.moment()

    def delete_unchanged(
        self, ids: Sequence[str], moment: Moment, used: Mapping[str, Usage] = MappingProxyType({})
    ) -> int:
        """Remove records, unless one that was there at the moment has changed since; how many there were.

        Args:
            used: Usage of records; refuse if that of one is another by now.

        Raises:
            PlanOutdated: One has changed or was used; nothing was removed.
        """
        self.write_retrievals()

        def check(connection: sqlite3.Connection) -> None:
            check_unchanged(connection, self._name, moment)
            usage.check_unused(self._ledger, self._name, used)

        operation = self._operation or self._draft("delete")
        return self._ledger.remove(self._name, ids, operation, check=check)

    def merge(self, merges: Sequence[Merge], moment: Moment, dropped: Sequence[str] = ()) -> None:
        """Make one record of several, as often as is asked; `PlanOutdated` where one has changed since a `moment`.

        Args:
            dropped: Records that go besides, in the same transaction.
        """
        operation = self._operation or self._draft("merge")
        merging.merge(self.parts, merges, operation, unchanged_since=moment, dropped=dropped)

    def check_unchanged(self, ids: Sequence[str], moment: Moment) -> None:
        """Raise `PlanOutdated` if one of these records, or its marks, has changed since a `moment`."""
        with self._ledger.database.read() as connection:
            check_records_unchanged(connection, self._name, ids, moment, with_marks=True)

    def trash(self, limit: int, offset: int) -> list[TrashedRecord]:
        """Deleted records, the last deleted first."""
        return trash.read_trash(self._ledger, self._name, limit, offset)

    def count_trash(self) -> int:
        """How many deleted records there are."""
        return trash.count_trash(self._ledger, self._name)

    def restore(self, ids: Sequence[str]) -> int:
        """Bring deleted records back as they were; how many were not there."""
        operation = self._operation or self._draft("restore")
        return trash.restore(self.parts, ids, operation)

    def _add(self, records: list[Record], *, skip_known: bool = False, also: Also | None = None) -> list[str]:
        operation, model = self._operation or self._draft("store"), self.parts.model
        added = self._ledger.add(self._name, records, operation, model=model, skip_known=skip_known, also=also)
        settings, nearest = self.parts.settings, self.parts.nearest
        if nearest.is_behind(settings.index_lag_rows):
            nearest.catch_up(timeout_seconds=0)
        return added

    def _add_unknown(self, records: list[Record], restored: Mapping[str, Restored], alone_in: str) -> list[str]:
        book = self.parts.marks
        check_marks({record_id: known.marks for record_id, known in restored.items()})

        def write_known(connection: sqlite3.Connection, writer: LedgerWriter, ids: list[str]) -> None:
            if alone_in:
                columns.check_alone(connection, self._name, alone_in, ids)
            known = {record_id: restored[record_id] for record_id in ids if record_id in restored}
            marks = {record_id: given.marks for record_id, given in known.items() if given.marks != NO_MARKS}
            book.write_within(connection, writer, self._name, marks)
            usage.restore_usage(connection, self._name, {record_id: given.usage for record_id, given in known.items()})
            usage.restore_uses(connection, self._name, {record_id: given.uses for record_id, given in known.items()})

        added = self._add(records, skip_known=True, also=write_known)
        book.settle()
        return added

    def _records(
        self, ids: list[str], embeddings: Sequence[npt.ArrayLike], metadatas: list[dict[str, Any]], documents: list[str]
    ) -> list[Record]:
        return as_records(ids, embeddings, metadatas, documents, dimension=self.parts.dimension)

    def _draft(self, kind: str, reason: str = "") -> OperationDraft:
        return self._ledger.draft(kind, actor=self.parts.settings.actor, reason=reason)
