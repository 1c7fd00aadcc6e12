"""A collection in a ledger: durable, with exact filters and undo.

An actor that is bound to a scope reads and writes only the records in it, as if there were no others. In the same way,
an agent does not see records in quarantine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from atlas.core.errors import NotAllowed, NotFound
from atlas.core.hits import Candidates, QueryResult, Selector
from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, TrashedRecord, Usage, Use
from atlas.core.types import Vector, Vectors
from atlas.embedding.late_interaction import Projection
from atlas.infra.actor import (
    Role,
    actor_name,
    actor_scope,
    check_actor_scope,
    current_actor,
    has_role,
    is_agent,
    is_in_scope,
    is_under_review,
    refuse_in_scope,
    restrict_to_actor_scope,
)
from atlas.protocols.infra import Where
from atlas.protocols.strategies import SuccessRateUpdater
from atlas.storage import hybrid_search
from atlas.storage.collection import Collection
from atlas.storage.collection_parts import CollectionParts
from atlas.storage.marks.codec import check_marks
from atlas.storage.marks.strictness import read_strictness
from atlas.storage.records import (
    IS_NOT_QUARANTINED,
    MEASUREMENTS,
    Context,
    Merge,
    Moment,
    OperationDraft,
    Record,
    RestoredHistory,
    Version,
    as_records,
    as_row,
    as_vector,
)
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
        self.has_token_vectors = parts.late is not None
        self.scrubs_secrets = parts.settings.scrub_secrets

    @property
    def directory(self) -> Path:
        """The directory of the store."""
        return self.parts.directory

    @property
    def vector_store(self) -> LedgerVectorStore:
        """The same records behind the async protocol `VectorStore`."""
        return LedgerVectorStore(self)

    @property
    def problem(self) -> str:
        """Description of the outage if queries need an unreachable index, else empty."""
        return self.parts.nearest.problem

    def as_operation(
        self,
        kind: str,
        reason: str = "",
        operation_id: str | None = None,
        *,
        unchanged_since: Mapping[str, Moment] | None = None,
    ) -> LedgerCollection:
        """Return a view of this collection whose writes belong to one operation, new or existing."""
        operation = self._new_operation(kind, reason)
        operation = replace(operation, id=operation_id or operation.id, unchanged_since=unchanged_since or {})
        return LedgerCollection(self.parts, operation)

    def exclude(self, ids: Sequence[str]) -> LedgerCollection:
        """Return a view of this collection whose searches skip these records. Word frequencies still include them."""
        seqs, earlier_seqs = (
            self._ledger.matching_seqs(self._name, {"id": {"$in": list(ids)}}),
            self.parts.excluded_seqs,
        )
        excluded_seqs = seqs if earlier_seqs is None else hybrid_search.sorted_union(earlier_seqs, seqs)
        return LedgerCollection(replace(self.parts, excluded_seqs=excluded_seqs), self._operation)

    @property
    def operation_id(self) -> str | None:
        """Id of the operation from `as_operation`. The history lists the operation after its first write."""
        return self._operation.id if self._operation else None

    def notes(self) -> dict[str, str]:
        """Return the collection's notes, which are small stored texts, keyed by name."""
        return self._ledger.notes.read(f"kept:{self._name}:")

    def write_note(self, name: str, text: str) -> None:
        """Write a note durably. The write is not an operation in the history."""
        self._ledger.notes.write({f"kept:{self._name}:{name}": text})

    def strictness(self) -> float:
        """Return the factor that multiplies the measured relevance threshold. 1 unless a person changed it."""
        return read_strictness(self._ledger)

    def reading(self) -> AbstractContextManager[object]:
        """Return a context manager in which this thread reads one snapshot of the store."""
        return self._ledger.reading()

    def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Write new records, which are durable and visible to every process when this returns."""
        records = self._make_records(ids, embeddings, metadatas, documents)
        self._add_records(records)

    def add_missing(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        restored: Mapping[str, RestoredHistory] = MappingProxyType({}),
        *,
        unique_key: str = "",
    ) -> list[str]:
        """Add the records whose id and content hash are both new, and return the ids of the added records."""
        records = [
            replace(record, stored_at=restored[record.id].stored_at) if record.id in restored else record
            for record in self._make_records(ids, embeddings, metadatas, documents)
        ]
        if not restored:
            return self._add_records(records, skip_known=True, unique_key=unique_key)
        check_marks({record_id: history.marks for record_id, history in restored.items()})
        return self._add_records(records, skip_known=True, restored=restored, unique_key=unique_key)

    def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        *,
        unchanged_since: Moment | None = None,
        deleted_ids: Sequence[str] = (),
    ) -> None:
        """Replace records."""
        records = self._make_records(ids, embeddings, metadatas, documents)
        self._check_visible([*ids])
        operation = self._operation or self._new_operation("edit")
        model = self.parts.model
        self._ledger.update(
            self._name,
            records,
            operation,
            model=model,
            unchanged_since=unchanged_since,
            deleted_ids=self._visible_ids(deleted_ids),
        )

    def delete(self, ids: list[str]) -> int:
        """Delete records, keeping them in the history, and return the number of deleted ones."""
        operation = self._operation or self._new_operation("delete")
        return self._ledger.remove(self._name, self._visible_ids(ids), operation)

    def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the records that exist, in the order of `ids`."""
        records = self._read_live(ids)
        return [as_row(records[record_id]) for record_id in ids if record_id in records]

    def get_without_content(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the records that exist, like `get`, but without vectors and content."""
        records = self._read_live(ids, with_content=False)
        return [as_row(records[record_id]) for record_id in ids if record_id in records]

    def count(self, where: Where | None = None) -> int:
        """Return the number of records that pass a filter."""
        return self._ledger.count(self._name, self._visible_filter(where))

    def is_empty(self) -> bool:
        """Return whether the collection has no records."""
        return not (self.count() if actor_scope() else self._ledger.has_more_than(self._name, 0))

    def query(
        self, embedding: npt.ArrayLike, k: int, where: Where | None = None, *, with_buried: bool = True
    ) -> QueryResult:
        """Return the k nearest records that pass a filter, by exact similarity, without content."""
        vector = as_vector(embedding, self.parts.dimension)
        return hybrid_search.find_by_vector(self.parts, vector, k, restrict_to_actor_scope(where), with_buried)

    def projection(self) -> Projection | None:
        """Return the projection that packs token vectors of new texts, or None if the store keeps no token vectors."""
        return self.parts.late.projection_for_new_texts() if self.parts.late is not None else None

    def similarities(self, n: int) -> tuple[Vector, Vector]:
        """Return the cosines of all pairs among n sampled records, and of each of them with its nearest neighbour."""
        return similarities.sample_similarities(self._ledger, self._name, self.parts.nearest, n)

    def sample_texts(self, n: int) -> dict[str, str]:
        """Return up to n texts, keyed by record id, spread evenly over the order in which they were added."""
        records = self._ledger.read_by_seq(similarities.sample_seqs(self._ledger, self._name, n).tolist())
        return {record.id: record.document for record in records.values()}

    def read_measurement(self) -> str | None:
        """Return the stored measurement of the collection's relevance level, as text, or None."""
        return self._ledger.notes.read(MEASUREMENTS).get(self._name)

    def write_measurement(self, text: str) -> None:
        """Store a measurement of the relevance level, replacing an earlier one. Does nothing in a read-only store."""
        if not self._ledger.read_only:
            self._ledger.notes.write({MEASUREMENTS + self._name: text})

    def first_vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Return each record's vector for its whole text, of unit length and shape (dim,), keyed by id."""
        return self._ledger.vectors.first_vectors(self._name, self._visible_ids(ids))

    def search_text(
        self, text: str, k: int, where: Where | None = None, *, with_buried: bool = True, as_typed: bool = False
    ) -> QueryResult:
        """Return the k best records by BM25, best first."""
        return hybrid_search.find_by_words(self.parts, text, k, restrict_to_actor_scope(where), with_buried, as_typed)

    def candidates(
        self,
        embedding: npt.ArrayLike | None,
        text: str | None,
        n: int,
        where: Where | None = None,
        *,
        with_buried: bool = True,
        context: Context | None = None,
        returned: Selector | None = None,
        compared: Selector | None = None,
    ) -> Candidates:
        """Return the n nearest records that pass a filter, and the n best by keywords."""
        vector = None if embedding is None else as_vector(embedding, self.parts.dimension)
        scoped_filter = restrict_to_actor_scope(where)
        return hybrid_search.find_candidates(
            self.parts, vector, text, n, scoped_filter, with_buried, context, returned, compared
        )

    def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return records sorted by a metadata key or by insertion, without vectors and content."""
        records = self._ledger.scan(
            self._name,
            self._visible_filter(where),
            order_by=order_by,
            descending=descending,
            limit=limit,
            offset=offset,
        )
        return [as_row(record) for record in records]

    def count_by(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """Return the number of records, keyed by the value of a metadata key, most frequent first."""
        return self._ledger.count_by(self._name, key, self._visible_filter(where))

    def keys(self) -> set[str]:
        """Return the metadata keys of records."""
        if actor_scope():
            return {key for row in self.scan() for key in row["metadata"]}
        return self._ledger.columns.keys(self._name)

    def ids(self, where: Where | None = None) -> list[str]:
        """Return the ids of the records that pass a filter, in the order of insertion."""
        return self._ledger.columns.ids(self._name, self._visible_filter(where))

    def column(self, key: str, where: Where | None = None) -> dict[str, Any]:
        """Return the values of a metadata key, `marks.…` or `usage.…`, keyed by record id, without missing values."""
        if key.startswith("marks."):
            marks = self._ledger.marks.column(self._name, key.removeprefix("marks."))
            return {record_id: marks[record_id] for record_id in self.ids(where) if record_id in marks}
        return self._ledger.columns.column(self._name, key, self._visible_filter(where))

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the titles of the records that exist, keyed by id."""
        return self._ledger.columns.titles(self._name, self._visible_ids(ids))

    def counts_by_day(self, where: Where | None = None) -> dict[str, dict[str, int]]:
        """Return the number of records by UTC day and outcome, such as `{"2026-05-01": {"succeeded": 3}}`."""
        return self._ledger.columns.counts_by_day(self._name, self._visible_filter(where))

    def vectors_of(self, documents: Sequence[str]) -> dict[str, Vectors]:
        """Return the stored vectors of texts, keyed by text, each of shape (n_windows, dim)."""
        return self._ledger.vectors.read_by_text(documents)

    def vectors(self) -> dict[str, Vectors]:
        """Return the vectors of every record, keyed by id, each of shape (n_windows, dim)."""
        changes = self._ledger.vector_changes(self._name, 0)
        vectors = {change.id: change.vectors for change in changes if len(change.vectors)}
        return {record_id: vectors[record_id] for record_id in self._visible_ids([*vectors])}

    def ids_by_hash(self, hashes: Sequence[str]) -> dict[str, str]:
        """Return record ids, keyed by content hash. A merged record's hash leads to its replacement."""
        ids_by_hash = self._ledger.ids_by_hash(self._name, hashes)
        if not actor_scope():
            return ids_by_hash
        visible_ids = set(self._visible_ids([*ids_by_hash.values()]))
        return {content_hash: record_id for content_hash, record_id in ids_by_hash.items() if record_id in visible_ids}

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """Return at most two ids that begin with a prefix, enough to tell whether the prefix is unique."""
        if actor_scope() or self._quarantine_reasons():
            later_ids = self.ids({"id": {"$gte": prefix}})
            return [record_id for record_id in later_ids if record_id.startswith(prefix)][:2]
        return self._ledger.ids_with_prefix(self._name, prefix)

    def changed_ids(self, since: int, *, limit: int = -1) -> list[str]:
        """Return the ids of records added, changed or deleted after a revision, oldest change first.

        An actor that is bound to a scope does not see deletions.
        """
        return [*self._visible_ids(self._ledger.changed_ids(self._name, since, limit=limit))]

    def existing_ids(self, ids: Sequence[str]) -> set[str]:
        """Return the subset of `ids` that exist."""
        return set(self._read_live(ids, with_content=False))

    def purged(self, ids: Sequence[str]) -> set[str]:
        """Return the subset of `ids` whose records were purged. A purged id cannot be reused."""
        return self._ledger.history.purged(self._name, ids)

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return each record's counts of retrievals and uses, keyed by id. The last half minute may be missing."""
        usage = self._ledger.usage.read(self._name, self._visible_ids(ids))
        return {record_id: usage.get(record_id, NO_USAGE) for record_id in ids}

    def record_use(
        self,
        record_id: str,
        success: bool,
        task_id: str = "",
        trajectory_id: str = "",
        *,
        updater: SuccessRateUpdater | None = None,
    ) -> None:
        """Record a use of a record and its outcome, once per attempt. Rates are computed from the uses."""
        if not self._read_live([record_id], with_content=False):
            raise NotFound(f"there is no record {record_id!r} in {self._name!r}; it may have been deleted")
        is_waiting = is_under_review()
        if is_waiting and not self.operation_id:
            raise NotAllowed(
                "your writes are under review, so a use cannot be recorded alone; store the attempt with `used`, so "
                "that a curator accepts both"
            )
        self._ledger.usage.record(
            self._name,
            record_id,
            success,
            task_id=task_id,
            trajectory_id=trajectory_id,
            actor=actor_name(self.parts.settings.actor),
            operation_id=self.operation_id or "",
            is_waiting=is_waiting,
        )

    def uses(self, ids: Sequence[str]) -> dict[str, list[Use]]:
        """Return the uses of each record and of the records merged into it, oldest first.

        An actor that is bound to a scope does not see the attempts and names of others.
        """
        uses = self._ledger.usage.uses(self._name, self._visible_ids(ids))
        return {record_id: [*map(_redact_use, uses.get(record_id, []))] for record_id in ids}

    def count_retrievals(self, ids: Sequence[str]) -> None:
        """Count the hits of a search as retrieved. Counts are written in batches."""
        retrievals = self.parts.retrievals
        if retrievals.count(self._name, ids):
            retrievals.flush()

    def write_retrievals(self) -> None:
        """Write the counts of `count_retrievals` in this process, so that `usage` includes them."""
        if not self._ledger.read_only:
            self.parts.retrievals.flush()

    def marks(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Return the marks of each record, keyed by id. Unmarked records have empty marks."""
        marks = self._ledger.marks.read(self._name, self._visible_ids(ids))
        return {record_id: marks.get(record_id, NO_MARKS) for record_id in ids}

    def mark(self, marks: Mapping[str, Marks]) -> None:
        """Replace the marks of records, or raise `NotFound` if a record does not exist."""
        self._check_visible([*marks])
        operation = self._operation or self._new_operation("mark")
        self._ledger.marks.write(self._name, marks, operation)

    def change_marks(self, ids: Sequence[str], change: Callable[[Marks], Marks]) -> int:
        """Apply a function to the marks of records, and return the number of changed records."""
        self._check_visible(ids)
        operation = self._operation or self._new_operation("mark")
        return self._ledger.marks.change(self._name, ids, change, operation)

    def release(self, ids: Sequence[str], unchanged_since: Moment | None = None) -> int:
        """Accept records that wait for review, and return their number."""
        self._check_visible(ids)
        operation = self._operation or self._new_operation("accept")
        return self._ledger.history.accept(self._name, ids, operation, unchanged_since)

    def quarantine(self, reasons: Mapping[str, str]) -> int:
        """Set each record's quarantine reason ('' ends the quarantine), and return the number of changed records."""
        self._check_visible([*reasons])
        operation = self._operation or self._new_operation("quarantine")
        return self._ledger.marks.quarantine(self._name, reasons, operation)

    def versions(self, record_id: str) -> list[Version]:
        """Return the earlier versions of a record, latest first."""
        if not self._visible_ids([record_id]):
            return []
        versions, scope = self._ledger.history.versions(self._name, record_id), actor_scope()
        return [version for version in versions if is_in_scope(scope, version.content.get("metadata", {}))]

    def check_may_change(self, ids: Sequence[str]) -> None:
        """Raise `NotFound` if a record does not exist, and `NotAllowed` if the current actor may not change it.

        Curators may change all records. Other people, and an agent on the command line, may change those that they
        stored.
        """
        self._check_existing(ids)
        if current_actor() is None or not has_role(Role.CURATOR):
            self._ledger.history.check_authors(actor_name(self.parts.settings.actor), self._name, ids)

    def moment(self) -> Moment:
        """Return the current point in the history, for a later `delete_unchanged`, `update` or `merge`."""
        return self._ledger.moment()

    def delete_unchanged(
        self, ids: Sequence[str], moment: Moment, usage: Mapping[str, Usage] = MappingProxyType({})
    ) -> int:
        """Delete records and return their number, unless the collection has changed since `moment`."""
        self.write_retrievals()
        operation = self._operation or self._new_operation("delete")
        return self._ledger.remove(self._name, self._visible_ids(ids), operation, unchanged_since=moment, usage=usage)

    def merge(self, merges: Sequence[Merge], moment: Moment, deleted_ids: Sequence[str] = ()) -> None:
        """Merge groups of records, or raise `PlanOutdated` if one of them has changed since `moment`."""
        merged_ids = [record_id for item in merges for record_id in (item.kept_id, *item.removed)]
        self._check_visible([*merged_ids, *deleted_ids])
        operation = self._operation or self._new_operation("merge")
        records = self._make_records(
            [item.kept_id for item in merges],
            [item.embedding for item in merges],
            [dict(item.metadata) for item in merges],
            [item.document for item in merges],
        )
        self._ledger.history.merge(
            self._name,
            merges,
            records,
            operation,
            model=self.parts.model,
            unchanged_since=moment,
            deleted_ids=deleted_ids,
        )

    def check_unchanged(self, ids: Sequence[str], moment: Moment) -> None:
        """Raise `PlanOutdated` if one of these records or its marks have changed since `moment`."""
        self._ledger.history.check_unchanged(self._name, ids, moment)

    def trash(self, limit: int, offset: int) -> list[TrashedRecord]:
        """Return deleted records, most recently deleted first."""
        refuse_in_scope("list deleted records")
        return self._ledger.history.trash(self._name, limit, offset)

    def count_trash(self) -> int:
        """Return the number of deleted records."""
        refuse_in_scope("count deleted records")
        return self._ledger.history.count_trash(self._name)

    def restore(self, ids: Sequence[str]) -> int:
        """Restore deleted records, and return the number of restored ones."""
        refuse_in_scope("restore deleted records")
        operation = self._operation or self._new_operation("restore")
        return self._ledger.history.restore(self._name, ids, operation)

    def _read_live(self, ids: Sequence[str], *, with_content: bool = True) -> dict[str, Record]:
        """Return the live records among `ids` that the current actor may see, keyed by id."""
        records = self._ledger.get(self._name, ids, with_content=with_content)
        if scope := actor_scope():
            records = {
                record_id: record for record_id, record in records.items() if is_in_scope(scope, record.metadata)
            }
        if quarantined := self._quarantine_reasons():
            records = {record_id: record for record_id, record in records.items() if record_id not in quarantined}
        return records

    def _quarantine_reasons(self) -> Mapping[str, str]:
        """Return the reason of each record in quarantine, keyed by id. Empty unless the current actor is an agent."""
        return self._ledger.marks.column(self._name, "quarantine") if is_agent() else {}

    def _visible_filter(self, where: Where | None) -> Where | None:
        """Return a filter that also restricts the records to those that the current actor may see."""
        scoped_filter = restrict_to_actor_scope(where)
        return {"$and": [IS_NOT_QUARANTINED, scoped_filter or {}]} if self._quarantine_reasons() else scoped_filter

    def _visible_ids(self, ids: Sequence[str]) -> Sequence[str]:
        """Return the ids of records that the current actor may see."""
        if not (actor_scope() or self._quarantine_reasons()):
            return ids
        existing_ids = self.existing_ids(ids)
        return [record_id for record_id in ids if record_id in existing_ids]

    def _check_visible(self, ids: Sequence[str]) -> None:
        """Raise `NotFound` if the current actor may not see a record."""
        if actor_scope() or self._quarantine_reasons():
            self._check_existing(ids)

    def _check_existing(self, ids: Sequence[str]) -> None:
        """Raise `NotFound` if a record does not exist, or the current actor may not see it."""
        for record_id in set(ids).difference(self.existing_ids(ids)):
            raise NotFound(f"there is no record {record_id!r} in {self._name!r}; it may have been deleted")

    def _add_records(
        self,
        records: list[Record],
        *,
        skip_known: bool = False,
        restored: Mapping[str, RestoredHistory] = MappingProxyType({}),
        unique_key: str = "",
    ) -> list[str]:
        """Add records, and return the ids of the added ones. The index is updated if it lags too far behind."""
        operation = self._operation or self._new_operation("store")
        model = self.parts.model
        added_ids = self._ledger.add(
            self._name, records, operation, model=model, skip_known=skip_known, restored=restored, unique_key=unique_key
        )
        self.parts.nearest.updater.catch_up_if_behind(self.parts.settings.index_lag_rows)
        return added_ids

    def _make_records(
        self, ids: list[str], embeddings: Sequence[npt.ArrayLike], metadatas: list[dict[str, Any]], documents: list[str]
    ) -> list[Record]:
        """Return the records that parallel lists describe, or raise `InvalidInput` if one is outside of the scope."""
        check_actor_scope(metadatas)
        return as_records(ids, embeddings, metadatas, documents, dimension=self.parts.dimension)

    def _new_operation(self, kind: str, reason: str = "") -> OperationDraft:
        """Return a new operation of the current actor."""
        return self._ledger.new_operation(kind, actor=actor_name(self.parts.settings.actor), reason=reason)


def _redact_use(use: Use) -> Use:
    """Return a use without its ids and actor if the current actor has a scope, and somebody else recorded the use."""
    if not actor_scope() or use.actor == actor_name(""):
        return use
    return replace(use, task_id="", trajectory_id="", actor="")
