"""The records of a memory: reading, counting, marking, deleting and restoring them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from atlas.core.errors import InvalidInput, PlanOutdated, RecordChanged
from atlas.core.filters import filter_notes, parse_scope, scope_of
from atlas.core.operations import Marks, TrashedRecord, Usage
from atlas.core.types import Vectors
from atlas.embedding.chunking import EncodedText, encode_texts
from atlas.infra.actor import assign_actor_scope
from atlas.infra.secrets import replace_secrets
from atlas.infra.twin import twin
from atlas.memory.base import tables
from atlas.memory.base.marks import MarksChange
from atlas.memory.base.tables import MapPositions
from atlas.memory.base.unused import Idle, find_idle
from atlas.protocols.infra import Clock, Where, WholeEmbedder
from atlas.protocols.strategies import SuccessRateUpdater
from atlas.storage.collection import Collection
from atlas.storage.records import Moment

METADATA = "meta."
"""Prefix of a record's own metadata keys, which distinguishes them from ATLAS's keys: `meta.file`."""

TRIES = 10
"""Maximum number of attempts to write a change while other writers change the same record."""

TABLE_BATCH = 500
"""Batch size of records that are read for a table."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """A record in the form in which a store writes it."""

    id: str
    document: str
    """The text that is embedded and indexed."""

    metadata: dict[str, Any]
    """Keys to filter and sort by, the full record as `content`, and its `content_hash`."""


class Records:
    """The records of one collection. Each method has an async twin, with an `a` before its name."""

    fields: ClassVar[frozenset[str]] = frozenset()
    """Names that filters may use, in addition to the records' own metadata and `COMMON_NAMES`."""

    success_updater: SuccessRateUpdater | None = None
    """Updater of success rates for a store that keeps no attempts, or None if it keeps no rates."""

    def __init__(self, store: Collection, collection_name: str, clock: Clock) -> None:
        self.collection_name = collection_name
        self._scrubs = True
        self._store = store
        self._clock = clock

    @property
    def operation_id(self) -> str | None:
        """The id of the operation that `as_operation` began, or None without one."""
        return self._store.operation_id

    @property
    def counts_uses(self) -> bool:
        """True if the memory can record uses."""
        return self.success_updater is not None or self._store.keeps_uses

    # Listing. A misspelt name in a filter raises InvalidInput in every method, as in `filter_notes`

    def filter_notes(self, where: Where | None) -> tuple[str, ...]:
        """Return a sentence about each name in a filter that no record has as a key.

        Raises:
            InvalidInput: A name is misspelt, or the filter is malformed.
        """
        return filter_notes(where, self.fields, self._store.keys)

    afilter_notes = twin(filter_notes)

    def browse(
        self,
        where: Where | None = None,
        *,
        order_by: str = "created_at",
        descending: bool = True,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return rows of records (`id`, `metadata`, `document`) without vectors and full content, for tables."""
        return self._store.scan(
            self._validate_filter(where), order_by=order_by, descending=descending, limit=limit, offset=offset
        )

    abrowse = twin(browse)

    def to_pandas(
        self, where: Where | None = None, *, ids: Sequence[str] | None = None, positions: MapPositions | None = None
    ) -> Any:
        """Return records as a `pandas.DataFrame`, one per row: content, uses, and position on the map.

        `rate` is the success rate of the tasks that used the record. `domain`, `map_x` and `map_y`
        are empty until a map was made.

        Args:
            where: Filter. Rows are in the order of insertion.
            ids: Ids of the only records to return, in this order. `where` is then ignored.
            positions: Positions on another map. By default, the stored map is used.

        Raises:
            ExtraMissing: pandas is not installed.
        """
        with self._store.reading():
            rows = (
                self._store.scan(self._validate_filter(where))
                if ids is None
                else self._rows_without_vectors(parse_ids(ids))
            )
            row_ids = [row["id"] for row in rows]
            marks, usage = self._store.marks(row_ids), self._store.usage(row_ids)
        if positions is None:
            directory = self._store.directory
            positions = tables.read_positions(directory, self.collection_name) if directory else tables.NO_POSITIONS
        return tables.build_frame(tables.build_columns(rows, marks, usage, positions))

    ato_pandas = twin(to_pandas)

    def count(self, where: Where | None = None) -> int:
        """Return the number of records that pass a filter."""
        return self._store.count(self._validate_filter(where))

    acount = twin(count)

    def values(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """Return the number of records with each value of a metadata key such as `source`, most frequent first."""
        return self._store.count_by(key, self._validate_filter(where))

    avalues = twin(values)

    def ids(self, where: Where | None = None) -> list[str]:
        """Return the ids of the records that pass a filter, in the order they were added."""
        return self._store.ids(self._validate_filter(where))

    aids = twin(ids)

    def column(self, key: str, where: Where | None = None) -> dict[str, Any]:
        """Return the value of a metadata key for each record that has the key, keyed by the record's id.

        Several values of one record are returned as a tuple.

        Args:
            key: A metadata key such as `outcome`, or `marks.tags`, `marks.pinned`, `marks.note`, `usage.n_retrieved` …
        """
        return self._store.column(key, self._validate_filter(where))

    acolumn = twin(column)

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the title of each record that exists, keyed by id."""
        return self._store.titles(parse_ids(ids))

    atitles = twin(titles)

    def counts_by_day(self, where: Where | None = None) -> dict[str, dict[str, int]]:
        """Return numbers of attempts, keyed by day in UTC (`2026-05-01`), then by outcome. Empty days are left out."""
        return self._store.counts_by_day(self._validate_filter(where))

    acounts_by_day = twin(counts_by_day)

    def never_retrieved(self, days: float) -> list[str]:
        """Return the ids of records stored at least `days` days ago and never retrieved."""
        return self._find_idle(days).never_used

    anever_retrieved = twin(never_retrieved)

    def stale(self, days: float) -> list[str]:
        """Return the ids of records that were retrieved or used before, but not in the last `days` days."""
        return self._find_idle(days).no_longer_used

    astale = twin(stale)

    def _find_idle(self, days: float) -> Idle:
        self._store.write_retrievals()
        names = ("stored_at", "usage.last_retrieved_at", "usage.last_used_at")
        stored_at, retrieved_at, used_at = [self._store.column(name) for name in names]
        return find_idle(stored_at, retrieved_at, used_at, until=self._clock.now() - timedelta(days=days))

    # Curation

    def delete(self, ids: Sequence[str]) -> int:
        """Delete one or more records and return how many were deleted.

        `undo` restores them from the history.
        """
        return self._store.delete([ids] if isinstance(ids, str) else list(ids))

    adelete = twin(delete)

    def record_use(self, record_id: str, success: bool, *, task_id: str = "", trajectory_id: str = "") -> None:
        """Record the outcome of an attempt at a task that used this record.

        A record's success rate is the mean of its own outcome and of the outcomes recorded here. Recording is
        idempotent: a second report on a trajectory is ignored. A plain vector store keeps no attempts, so every call
        counts there, and only for concepts and strategies.

        Raises:
            NotFound: The record does not exist.
            InvalidInput: The store is a plain vector store, and the record is neither a concept nor a strategy.
        """
        self._store.record_use(record_id, success, task_id, trajectory_id, updater=self.success_updater)

    arecord_use = twin(record_use)

    def marks(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Return the marks of each record, such as tags, pin and note, keyed by id."""
        return self._store.marks(parse_ids(ids))

    amarks = twin(marks)

    def mark(self, marks: Mapping[str, Marks]) -> None:
        """Replace the marks of records, as one operation, or raise `NotFound` if a record does not exist."""
        self._store.mark(
            {record_id: replace(value, note=self._replace_secrets(value.note)) for record_id, value in marks.items()}
        )

    amark = twin(mark)

    def change_marks(
        self,
        ids: Sequence[str],
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        pinned: bool | None = None,
        buried: bool | None = None,
        note: str | None = None,
    ) -> int:
        """Change some marks of records as one operation and return how many records changed.

        Args:
            pinned: Whether the records are protected from pruning; None leaves the pin unchanged.
            buried: Whether searches exclude the records; None leaves this unchanged.
            note: The new note; None leaves the note unchanged, and an empty one removes it.

        Raises:
            NotFound: A record does not exist; the store was not changed.
            InvalidInput: An empty tag, a text that JSON cannot encode, or a string instead of a list of ids.
        """
        change = MarksChange.parse(
            add_tags=add_tags,
            remove_tags=remove_tags,
            pinned=pinned,
            buried=buried,
            note=self._replace_secrets(note) if note else note,
        )
        return self._store.change_marks(list(dict.fromkeys(parse_ids(ids))), change)

    achange_marks = twin(change_marks)

    def release(self, ids: Sequence[str], *, unchanged_since: Moment | None = None) -> int:
        """Accept records that wait for review, in one operation, and return the number of accepted ones.

        Until then, a record written with a key under review is found only with that key, and its uses do not count.
        `IS_WAITING` is the filter for records that wait.

        Args:
            unchanged_since: Moment of the review, from `storage.ledger.moment`.

        Raises:
            NotFound: A record does not exist; none was accepted.
            PlanOutdated: A record has changed since that moment; none was accepted.
            NotAllowed: The actor is not a curator.
        """
        return self._store.release(parse_ids(ids), unchanged_since)

    arelease = twin(release)

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the numbers of retrievals, uses and successful uses of each record, keyed by id."""
        return self._store.usage(parse_ids(ids))

    ausage = twin(usage)

    def trash(self, limit: int = 50, offset: int = 0) -> list[TrashedRecord]:
        """Return deleted records, most recently deleted first. `restore` restores them."""
        return self._store.trash(limit, offset)

    atrash = twin(trash)

    def count_trash(self) -> int:
        """Return the number of deleted records."""
        return self._store.count_trash()

    acount_trash = twin(count_trash)

    def purged(self, ids: Sequence[str]) -> set[str]:
        """Return the subset of ids whose records were purged. Purged ids cannot be reused."""
        return self._store.purged(parse_ids(ids))

    apurged = twin(purged)

    def restore(self, ids: Sequence[str]) -> int:
        """Restore deleted records as one operation and return the number of restored ones.

        Existing records are skipped.

        Raises:
            NotFound: An id never had a record; the store was not changed.
        """
        return self._store.restore(parse_ids(ids))

    arestore = twin(restore)

    def _validate_filter(self, where: Where | None) -> Where | None:
        """Return the filter unchanged, or raise `InvalidInput` if it contains a misspelt name."""
        self.filter_notes(where)
        return where

    def _replace_secrets(self, value: T) -> T:
        """Return a record or a field, with secrets replaced if the store requires this."""
        return replace_secrets(value) if self._scrubs and self._store.scrubs_secrets else value

    def _prepare_new(self, record: T) -> T:
        """Return a new record with its secrets replaced and the scope of the current actor added."""
        return assign_actor_scope(self._replace_secrets(record))

    def _rows_without_vectors(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows of these records without vectors and internal metadata."""
        batches = (self._store.get([*ids[start : start + TABLE_BATCH]]) for start in range(0, len(ids), TABLE_BATCH))
        return [tables.drop_vectors(row) for batch in batches for row in batch]

    def __len__(self) -> int:
        """Return the number of records, or raise `InvalidInput` for a plain vector store that cannot count."""
        return self._store.n_records()


def filterable_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata values that filters support: strings, numbers, booleans and lists of these.

    Names get the prefix `meta.`, except the fields of a scope, which every memory can filter by.

    Raises:
        InvalidInput: The scope is malformed.
    """
    parse_scope(metadata)
    scope = scope_of(metadata)
    return {
        name if name in scope else f"{METADATA}{name}": value
        for name, value in metadata.items()
        if _is_filterable(value)
    }


class EncodedEntries(NamedTuple):
    """The arguments of a store's `add` and `update`: lists of equal length, with an item for each entry."""

    ids: list[str]
    embeddings: list[EncodedText]
    metadatas: list[dict[str, Any]]
    documents: list[str]


def encode_entries(
    entries: Sequence[Entry], store: Collection, embedder: WholeEmbedder, vectors_by_document: Mapping[str, Vectors]
) -> EncodedEntries:
    """Return entries with the vectors of their documents. Documents in `vectors_by_document` are not embedded again."""
    documents = [entry.document for entry in entries]
    vectors = _vectors_by_document(documents, store, embedder, vectors_by_document)
    return EncodedEntries(
        ids=[entry.id for entry in entries],
        embeddings=[vectors[document] for document in documents],
        metadatas=[entry.metadata for entry in entries],
        documents=documents,
    )


def drop_duplicates(entries: Sequence[Entry], store: Collection) -> list[Entry]:
    """Return the entries that are neither stored already nor repeated in the batch."""
    entries_by_hash: dict[str, Entry] = {}
    for entry in entries:
        entries_by_hash.setdefault(entry.metadata["content_hash"], entry)
    stored_hashes = store.ids_by_hash(list(entries_by_hash))
    return [entry for content_hash, entry in entries_by_hash.items() if content_hash not in stored_hashes]


def first_vectors(ids: Sequence[str], store: Collection, dimension: int) -> Vectors:
    """Return the first vector of each record, which embeds the whole text. A record without vectors gets zeros.

    Shape (len(ids), dimension).
    """
    vectors = store.first_vectors(ids)
    missing_vector = np.zeros(dimension, np.float32)
    if not ids:
        return np.zeros((0, dimension), np.float32)
    return np.stack([vectors.get(record_id, missing_vector) for record_id in ids])


def parse_ids(ids: Sequence[str]) -> list[str]:
    """Return the ids as a list.

    Raises:
        InvalidInput: A string was given instead of a list.
    """
    if isinstance(ids, str):
        raise InvalidInput(f"expected a list of ids, got the string {ids[:80]!r}; for one record, give [{ids[:80]!r}]")
    return list(ids)


def retry(call: Callable[[], T]) -> T:
    """Call a function and return its result. Retry after a `PlanOutdated`, up to `TRIES` calls in total.

    `RecordChanged` is not retried, because a retry could not succeed.
    """
    for _ in range(TRIES - 1):
        try:
            return call()
        except RecordChanged:
            raise
        except PlanOutdated:
            continue
    return call()


def _vectors_by_document(
    documents: Sequence[str], store: Collection, embedder: WholeEmbedder, known_vectors: Mapping[str, Vectors]
) -> dict[str, EncodedText]:
    """Return the vectors of each document, keyed by document: known, stored, or else computed by the model."""
    stored_vectors = store.vectors_of([text for text in documents if text not in known_vectors])
    existing_vectors = {text: EncodedText(vectors) for text, vectors in {**stored_vectors, **known_vectors}.items()}
    missing_texts = [text for text in dict.fromkeys(documents) if text not in existing_vectors]
    new_vectors = encode_texts(embedder, missing_texts, store.projection() if missing_texts else None)
    return existing_vectors | dict(zip(missing_texts, new_vectors, strict=True))


def _is_filterable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(item, str | int | float) for item in value)
    return isinstance(value, str | int | float)
