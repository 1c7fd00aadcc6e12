"""The store behind a memory: a ledger's, or any object with the specification's four methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.filters import matches, parse_where
from atlas.core.hits import Candidates, QueryResult
from atlas.core.operations import NO_USAGE, Marks, TrashedRecord, Usage, Use
from atlas.core.types import Vector, Vectors
from atlas.infra.bridge import run
from atlas.infra.duck_typing import offered
from atlas.protocols.infra import VectorStore, Where
from atlas.protocols.strategies import SuccessRateUpdater
from atlas.storage.collection import Restored
from atlas.storage.ledger_collection import LedgerCollection
from atlas.storage.plain.records import FIRST_ASKED, NOTHING, PlainRecords, may_be_awaited
from atlas.storage.plain.usage import COLUMNS, as_metadata, counted, statistics, usage_in
from atlas.storage.sqlite.history.merge import Merge
from atlas.storage.sqlite.history.operations import NO_MOMENT, Moment
from atlas.storage.sqlite.history.versions import Version
from atlas.storage.vector_store import LedgerVectorStore

METHODS = ("add", "query", "delete", "get")


def backing(
    vector_store: VectorStore | LedgerCollection | PlainStore, dimension: int, *, keeps_usage: bool = False
) -> LedgerCollection | PlainStore:
    """What a memory writes to: a ledger's store as it is, any other one with the missing methods made up for.

    Args:
        keeps_usage: Whether a record's metadata, if that is all there is, holds how often it was used; a ledger always
            keeps that.

    Raises:
        InvalidInput: It has not the four methods of the specification, or all of them are sync, as chromadb's own are.
    """
    if isinstance(vector_store, LedgerVectorStore):
        return vector_store.collection
    if isinstance(vector_store, LedgerCollection | PlainStore):
        return vector_store
    has_all = all(callable(offered(vector_store, name)) for name in METHODS)
    if not has_all or not any(may_be_awaited(vector_store, name) for name in METHODS):
        raise InvalidInput(
            f"a vector store should have the coroutines {', '.join(METHODS)}, but got {type(vector_store).__name__!r}; "
            "wrap it in a class that has them, or use the memory that atlas.open_memory gives"
        )
    return PlainStore(vector_store, dimension, keeps_usage=keeps_usage)


def as_vector_store(store: LedgerCollection | PlainStore) -> VectorStore:
    """Return a memory's records as the specification's vector store."""
    return store.vector_store if isinstance(store, PlainStore) else LedgerVectorStore(store)


class PlainStore(PlainRecords):
    """A store with `add, query, delete, get` alone, as a memory needs it: without history and marks.

    Of uses it keeps no more than numbers, in the metadata of concepts and strategies.
    """

    operation_id: str | None = None

    def __init__(self, vector_store: VectorStore, dimension: int, *, keeps_usage: bool = False) -> None:
        super().__init__(vector_store, dimension)
        self._keeps_usage = keeps_usage
        self._kept: dict[str, str] = {}

    def within(self, kind: str, reason: str = "", operation_id: str | None = None) -> PlainStore:
        """Itself: it keeps no history."""
        return self

    def kept(self) -> dict[str, str]:
        """The texts that are kept beside the records, by name: as long as this lives."""
        return dict(self._kept)

    def keep(self, name: str, text: str) -> None:
        """Keep a text beside the records."""
        self._kept[name] = text

    def reading(self) -> AbstractContextManager[object]:
        """Return a block that does nothing: a plain store has no states."""
        return nullcontext()

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
        """`add`, as it cannot tell what others store meanwhile. Marks are refused; of usage the numbers are kept."""
        self.mark({record_id: known.marks for record_id, known in restored.items() if known.marks != Marks()})
        known = {i: as_metadata(one.usage) for i, one in restored.items()} if self._keeps_usage else {}
        given = [metadata | known.get(i, {}) for i, metadata in zip(ids, metadatas, strict=True)]
        self.add(ids, embeddings, given, documents)
        return ids

    def count(self, where: Where | None = None) -> int:
        """How many records pass a filter; a store that cannot count is asked for all of them."""
        return self.n_records() if where is None and self._can_count else len(self.scan(where))

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
        """Replace records, which keep their usage; `NotFound` where one is not there. Dropped ones go besides."""
        with self._lock:
            before = self._rows(ids)
            kept = [statistics(row["metadata"]) if self._keeps_usage else {} for row in before]
            given = [metadata | numbers for metadata, numbers in zip(metadatas, kept, strict=True)]
            self._replace(before, embeddings, given, documents, dropped)

    def count_use(self, record_id: str, success: bool, updater: SuccessRateUpdater | None) -> None:
        """Count a use in a record's metadata, with the rate that an updater gives; `NotFound` where it is not there.

        Raises:
            InvalidInput: There is no updater: the record is of a memory whose metadata is the user's own.
            StoreError: The record had to be deleted and could not be added again; the message holds it.
        """
        if updater is None:
            raise InvalidInput("this vector store keeps no usage; use the memory that atlas.open_memory gives")
        with self._lock:
            [row] = self._rows([record_id])
            metadata = counted(row["metadata"], success, updater)
            self._replace([row], [row["embedding"]], [metadata], [row["document"]])

    def search_text(
        self, text: str, k: int, where: Where | None = None, *, with_buried: bool = True, as_typed: bool = False
    ) -> QueryResult:
        """What the store itself finds, by whole words; refused where it knows no words."""
        if not offered(self._store, "search_text"):
            raise InvalidInput("this vector store has no search_text; use the memory that atlas.open_memory gives")
        return run(self._store.search_text(text, k, where))

    def candidates(
        self,
        embedding: npt.ArrayLike | None,
        text: str | None,
        n: int,
        where: Where | None = None,
        *,
        with_buried: bool = True,
    ) -> Candidates:
        """The n nearest records and the n that hold the most telling words; by vector alone where it knows no words.

        How much could be held, it can only guess: from the best value, and from how many of the words that record has.
        """
        near = self.query(embedding, n, where) if embedding is not None else NOTHING
        held, information = self._word_values(text, where)
        metadatas = dict(zip(near.ids, near.metadatas, strict=True))
        similarities = {i: 1.0 - distance for i, distance in zip(near.ids, near.distances, strict=True)}
        for row in self.get([i for i in list(held)[: max(n, 0)] if i not in metadatas]):
            metadatas[row["id"]] = row["metadata"]
            similarities[row["id"]] = 0.0 if embedding is None else _similarity(row["embedding"], embedding)
        return Candidates(
            ids=list(metadatas),
            similarities=[similarities[i] for i in metadatas],
            words=[held.get(i, 0.0) for i in metadatas],
            metadatas=list(metadatas.values()),
            word_information=information,
        )

    def _word_values(self, text: str | None, where: Where | None) -> tuple[dict[str, float], float]:
        """The value of every record that holds any word of a text, highest first, and what all words would tell."""
        if text is None or not offered(self._store, "search_text"):
            return {}, 0.0
        n_asked = run(self._store.count()) if self._can_count else FIRST_ASKED
        found = run(self._store.search_text(text, n_asked, where))
        if not found.ids:
            return {}, 0.0
        distances = zip(found.ids, found.distances, strict=True)
        values = {i: max(0.0, 1.0 / max(distance, 1e-6) - 1.0) for i, distance in distances}
        words, best = set(text.lower().split()), found.documents[0].lower()
        n_held = max(1, sum(word in best for word in words))
        return values, max(values.values()) * max(1, len(words)) / n_held

    def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Records in order; a store that cannot list them is asked for the nearest of any vector, all that it holds."""
        if offered(self._store, "scan"):
            return run(self._store.scan(where, order_by=order_by, descending=descending, limit=limit, offset=offset))
        found = self._every()
        found_rows = zip(found.ids, found.metadatas, found.documents, strict=True)
        rows: list[dict[str, Any]] = [
            {"id": one, "metadata": metadata, "document": document} for one, metadata, document in found_rows
        ]
        tree = parse_where(where)
        passing = [row for row in rows if matches(tree, row["metadata"] | {"id": row["id"]})]
        ordered = _in_order(passing, order_by, descending) if order_by else passing
        return ordered[offset : None if limit is None else offset + limit]

    def count_by(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """How many records hold each value of a metadata key, most frequent first."""
        values = Counter(row["metadata"].get(key) for row in self.scan(where))
        return {value: count for value, count in values.most_common() if value is not None}

    def ids(self, where: Where | None = None) -> list[str]:
        """The ids of the records that pass a filter."""
        return [row["id"] for row in self.scan(where)]

    def column(self, key: str, where: Where | None = None) -> dict[str, Any]:
        """The value of a metadata key, by id; it keeps no marks, and of usage the numbers."""
        name = COLUMNS.get(key, key) if self._keeps_usage else key
        values = {row["id"]: row["metadata"].get(name) for row in self.scan(where)}
        return {record_id: value for record_id, value in values.items() if value is not None}

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """The titles of those of the records that are there."""
        return {row["id"]: row["metadata"].get("title", "") for row in self.get(list(ids))}

    def counts_by_day(self, where: Where | None = None) -> dict[str, dict[str, int]]:
        """How many records each day has, by outcome."""
        days: dict[str, Counter[str]] = {}
        for row in self.scan(where):
            if created_at := row["metadata"].get("created_at"):
                days.setdefault(created_at[:10], Counter())[row["metadata"].get("outcome", "unknown")] += 1
        return {day: dict(days[day]) for day in sorted(days)}

    def vectors(self) -> dict[str, Vectors]:
        """The vectors of every record."""
        rows = self.get([row["id"] for row in self.scan()])
        return {row["id"]: np.atleast_2d(np.asarray(row["embedding"], np.float32)) for row in rows}

    def first_vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """The vector of each record as a whole, by id, of unit length."""
        rows = self.get(list(ids))
        vectors = {row["id"]: np.atleast_2d(np.asarray(row["embedding"], np.float32))[0] for row in rows}
        return {record_id: vector / np.linalg.norm(vector) for record_id, vector in vectors.items()}

    def vectors_of(self, documents: Sequence[str]) -> dict[str, Vectors]:
        """None: it cannot look a text up."""
        return {}

    def known_hashes(self, hashes: Sequence[str]) -> dict[str, str]:
        """Those of the content hashes that some record has, each with the id of one."""
        held = {row["metadata"].get("content_hash"): row["id"] for row in self.scan()}
        return {content_hash: held[content_hash] for content_hash in hashes if content_hash in held}

    def present(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that some record has."""
        return {row["id"] for row in self.get(list(ids))}

    def peek(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """The records found; it reads no less than all of them."""
        return self.get(list(ids))

    def purged(self, ids: Sequence[str]) -> set[str]:
        """None is known."""
        return set()

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """The numbers in the records' metadata, where those are kept."""
        rows = self.get(list(ids)) if self._keeps_usage else []
        known = {row["id"]: usage_in(row["metadata"]) for row in rows}
        return {record_id: known.get(record_id, NO_USAGE) for record_id in ids}

    def marks(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Nothing is marked."""
        return {record_id: Marks() for record_id in ids}

    def similarities(self, n: int) -> tuple[Vector, Vector]:
        """Nothing is measured: what is usual with the model serves."""
        return np.zeros(0, np.float32), np.zeros(0, np.float32)

    def versions(self, record_id: str) -> list[Version]:
        """None: it keeps no history."""
        return []

    def moment(self) -> Moment:
        """It has no history, so there is one moment."""
        return NO_MOMENT

    def delete_unchanged(
        self, ids: Sequence[str], moment: Moment, used: Mapping[str, Usage] = MappingProxyType({})
    ) -> int:
        """Remove records; it cannot tell whether they have changed."""
        return self.delete(list(ids))

    def note_retrievals(self, ids: Sequence[str]) -> None:
        """Not kept."""

    def write_retrievals(self) -> None:
        """Not kept."""

    def uses(self, ids: Sequence[str]) -> dict[str, list[Use]]:
        """None is kept."""
        return {record_id: [] for record_id in ids}

    def mark(self, marks: Mapping[str, Marks]) -> None:
        """Refused, unless there are none: it has no place for them."""
        if marks:
            raise InvalidInput("this vector store keeps no marks; use the memory that atlas.open_memory gives")

    def merge(self, merges: Sequence[Merge], moment: Moment, dropped: Sequence[str] = ()) -> None:
        """Refused: it could not be undone."""
        raise _no_history("merge records")

    def check_unchanged(self, ids: Sequence[str], moment: Moment) -> None:
        """Nothing: it cannot tell whether they have changed."""

    def trash(self, limit: int, offset: int) -> list[TrashedRecord]:
        """Refused: what it deletes is gone."""
        raise _no_history("list what was deleted")

    def count_trash(self) -> int:
        """None: what it deletes is gone."""
        return 0

    def restore(self, ids: Sequence[str]) -> int:
        """Refused: what it deletes is gone."""
        raise _no_history("bring records back")

    def change_marks(self, ids: Sequence[str], change: Callable[[Marks], Marks]) -> int:
        """Refused, unless it changes nothing."""
        self.mark({record_id: change(Marks()) for record_id in ids if change(Marks()) != Marks()})
        return 0


def _no_history(what: str) -> InvalidInput:
    return InvalidInput(f"this vector store keeps no history, so it cannot {what}; use the memory of atlas.open_memory")


def _in_order(rows: list[dict[str, Any]], key: str, descending: bool) -> list[dict[str, Any]]:
    """Rows by a value of their metadata, those without one last."""
    present = [row for row in rows if row["metadata"].get(key) is not None]
    absent = [row for row in rows if row["metadata"].get(key) is None]
    return sorted(present, key=lambda row: row["metadata"][key], reverse=descending) + absent


def _similarity(windows: npt.ArrayLike, vector: npt.ArrayLike) -> float:
    """Cosine of a vector with the best of a record's windows."""
    rows, query = np.atleast_2d(np.asarray(windows, np.float32)), np.asarray(vector, np.float32).ravel()
    return float((rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))).max())
