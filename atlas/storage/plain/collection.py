"""Records in a vector store of the user: any object with the methods `add`, `query`, `delete` and `get`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.hits import Candidates, QueryResult, Selector
from atlas.core.operations import NO_USAGE, Marks, Usage
from atlas.infra.bridge import run
from atlas.infra.duck_typing import get_member, may_be_awaited
from atlas.infra.locks import lock_of
from atlas.protocols.infra import BrowsableVectorStore, VectorStore, Where
from atlas.protocols.strategies import SuccessRateUpdater
from atlas.storage.collection import Collection
from atlas.storage.plain.listing import list_rows
from atlas.storage.plain.replacing import Row, replace_records
from atlas.storage.plain.scoped_store import FIRST_REQUESTED, MemoryScope, ScopedStore
from atlas.storage.plain.usage import COLUMNS, as_metadata, decode_usage, usage_fields, with_outcome
from atlas.storage.records import Context, Moment, RestoredHistory
from atlas.storage.vector_store import LedgerVectorStore

METHODS = ("add", "query", "delete", "get")
"""The methods of the specification."""

BROWSING_METHODS = ("count", "update", "search_text", "scan")
"""Methods of a `BrowsableVectorStore` in addition to the specified ones."""

NO_RESULT = QueryResult(ids=[], distances=[], metadatas=[], documents=[])


def as_collection(
    vector_store: VectorStore | Collection, dimension: int, scope: MemoryScope, *, keeps_usage: bool = False
) -> Collection:
    """Return a vector store as the collection in which a memory keeps its records.

    A ledger's collection is returned unchanged. Any other store is wrapped in a `PlainCollection`: the store that its
    method `for_collection` returns for the scope's name, or the store itself. Several memories may share the latter, so
    the memory marks its records with that name.

    Args:
        keeps_usage: Whether to store usage counts in a record's metadata, for a store without a ledger.

    Raises:
        InvalidInput: The store lacks one of the specification's four methods, or they are sync, like chromadb's own.
    """
    if isinstance(vector_store, LedgerVectorStore):
        return vector_store.collection
    if isinstance(vector_store, Collection):
        return vector_store
    has_all = all(callable(get_member(vector_store, name)) for name in METHODS)
    if not has_all or not any(may_be_awaited(vector_store, name) for name in METHODS):
        raise InvalidInput(
            f"expected a vector store with the coroutines {', '.join(METHODS)}, got {type(vector_store).__name__!r}; "
            "wrap it in a class that has them, or use atlas.open_memory"
        )
    if callable(for_collection := get_member(vector_store, "for_collection")):
        own_store = for_collection(scope.collection)
        shared_scope = scope if own_store is vector_store else None  # a store of its own needs no marks
        return PlainCollection(own_store, dimension, shared_scope, keeps_usage=keeps_usage)
    return PlainCollection(vector_store, dimension, scope, keeps_usage=keeps_usage)


class PlainCollection(Collection):
    """A collection over a store with only `add, query, delete, get`. The collection has no history and no marks.

    Uses are stored as counts in the metadata of concepts and strategies. A record is replaced by the store's `update`,
    or else deleted and added again, so that a concurrent search may miss it.
    """

    def __init__(
        self, vector_store: VectorStore, dimension: int, scope: MemoryScope | None = None, *, keeps_usage: bool = False
    ) -> None:
        """Wrap a store.

        Args:
            scope: The memory's part of the store, or None for all records of the store.
        """
        self._vector_store = vector_store
        self._dimension = dimension
        scoped_store = vector_store if scope is None else ScopedStore(vector_store, scope, self._arbitrary_vector)
        self._store = cast(BrowsableVectorStore, scoped_store)  # uses only methods that the user's store has
        self._takes_windows = all(get_member(vector_store, name) for name in BROWSING_METHODS)
        self._lock = lock_of(vector_store)
        self._keeps_usage = keeps_usage
        self._notes: dict[str, str] = {}

    @property
    def vector_store(self) -> VectorStore:
        """The user's own store."""
        return self._vector_store

    def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the records that exist. An empty list is not sent to the store, because chromadb refuses it."""
        return run(self._store.get(ids)) if ids else []

    def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Add records. A store without the optional methods gets only the first vector of each record."""
        run(
            self._store.add(
                ids, [self._to_stored_embedding(embedding) for embedding in embeddings], metadatas, documents
            ),
            is_shielded=True,
        )

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
        """Add all records, because existing ones cannot be detected.

        Restored marks are refused. Only the counts of restored usage are kept.
        """
        self.mark({record_id: history.marks for record_id, history in restored.items() if history.marks != Marks()})
        usage: dict[str, dict[str, Any]] = {}
        if self._keeps_usage:
            usage = {record_id: as_metadata(history.usage) for record_id, history in restored.items()}
        with_usage = [metadata | usage.get(record_id, {}) for record_id, metadata in zip(ids, metadatas, strict=True)]
        self.add(ids, embeddings, with_usage, documents)
        return ids

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
        """Replace records, keeping their usage, or raise `NotFound` if one does not exist.

        The records `deleted_ids` are deleted as well.
        """
        with self._lock:
            old_rows = self._rows(ids)
            usage = [usage_fields(row["metadata"]) if self._keeps_usage else {} for row in old_rows]
            with_usage = [metadata | counts for metadata, counts in zip(metadatas, usage, strict=True)]
            if old_rows:
                self._replace_rows(old_rows, embeddings, with_usage, documents)
            if deleted_ids:
                run(self._store.delete(list(deleted_ids)), is_shielded=True)

    def delete(self, ids: list[str]) -> int:
        """Remove records, and return how many of them existed."""
        distinct_ids = list(dict.fromkeys(ids))
        with self._lock:  # not while one of them is being replaced, which would bring it back
            n_existing = len(self.get(distinct_ids))
            if n_existing:
                run(self._store.delete(distinct_ids), is_shielded=True)
        return n_existing

    def query(
        self, embedding: npt.ArrayLike, k: int, where: Where | None = None, *, with_buried: bool = True
    ) -> QueryResult:
        """Return the k nearest records. Buried records are included, because the store has no marks."""
        return run(self._store.query(to_list(embedding), k, where))

    def search_text(
        self, text: str, k: int, where: Where | None = None, *, with_buried: bool = True, as_typed: bool = False
    ) -> QueryResult:
        """Return the store's own keyword hits, or raise `InvalidInput` if the store has no word search."""
        if not get_member(self._vector_store, "search_text"):
            raise InvalidInput(
                "a plain vector store without search_text has no word search; open the store with atlas.open_memory"
            )
        return run(self._store.search_text(text, k, where))

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
        """Return the n nearest records and, if the store has keyword search, the n best by keywords.

        The maximum score is estimated from the best hit and its share of the query's words.
        """
        result = self.query(embedding, n, where) if embedding is not None else NO_RESULT
        keyword_scores, max_score = self._keyword_scores(text, where)
        metadatas = dict(zip(result.ids, result.metadatas, strict=True))
        distances = zip(result.ids, result.distances, strict=True)
        similarities = {record_id: 1.0 - distance for record_id, distance in distances}
        best_ids = list(keyword_scores)[: max(n, 0)]
        for row in self.get([record_id for record_id in best_ids if record_id not in metadatas]):
            metadatas[row["id"]] = row["metadata"]
            similarities[row["id"]] = 0.0 if embedding is None else _best_similarity(row["embedding"], embedding)
        return Candidates(
            ids=list(metadatas),
            similarities=[similarities[record_id] for record_id in metadatas],
            words=[keyword_scores.get(record_id, 0.0) for record_id in metadatas],
            metadatas=list(metadatas.values()),
            word_information=max_score,
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
        """Return records sorted by a metadata key or by insertion.

        A store that cannot list records is queried for all neighbours of an arbitrary vector.
        """
        if get_member(self._vector_store, "scan"):
            return run(self._store.scan(where, order_by=order_by, descending=descending, limit=limit, offset=offset))
        result = self._all_rows()
        rows: list[dict[str, Any]] = [
            {"id": record_id, "metadata": metadata, "document": document}
            for record_id, metadata, document in zip(result.ids, result.metadatas, result.documents, strict=True)
        ]
        return list_rows(rows, where, order_by=order_by, descending=descending, limit=limit, offset=offset)

    def notes(self) -> dict[str, str]:
        """Return the notes of the collection, keyed by name. Notes are not stored, and exist as long as this object."""
        return dict(self._notes)

    def write_note(self, name: str, text: str) -> None:
        """Set a note, which exists as long as this object."""
        self._notes[name] = text

    def record_use(
        self,
        record_id: str,
        success: bool,
        task_id: str = "",
        trajectory_id: str = "",
        *,
        updater: SuccessRateUpdater | None = None,
    ) -> None:
        """Count a use in a record's metadata, with the success rate from an updater.

        Raises:
            InvalidInput: There is no updater: the record is of a memory whose metadata is the user's own.
            StoreError: The record was deleted and could not be added again; the message contains it.
        """
        if updater is None:
            raise InvalidInput("this vector store keeps no usage; use atlas.open_memory")
        with self._lock:
            [row] = self._rows([record_id])
            metadata = with_outcome(row["metadata"], success, updater)
            self._replace_rows([row], [row["embedding"]], [metadata], [row["document"]])

    def n_records(self) -> int:
        """Return the number of records.

        Raises:
            InvalidInput: The store has no `count`.
        """
        if not self._can_count:
            raise InvalidInput(
                f"the vector store {type(self._vector_store).__name__!r} has no `count`, which len() needs; give it a "
                "coroutine `count()` that returns the number of records"
            )
        return run(self._store.count())

    def count(self, where: Where | None = None) -> int:
        """Return the number of records that pass a filter. If the store cannot count, all records are fetched."""
        return self.n_records() if where is None and self._can_count else len(self.scan(where))

    def is_empty(self) -> bool:
        """Return whether the collection has no records. A shared store may count other memories' records too."""
        return not (self.n_upper_bound() if self._can_count else run(self._store.query(self._arbitrary_vector, 1)).ids)

    def n_upper_bound(self) -> int:
        """Return an upper bound of the number of records, which includes other memories' records in a shared store."""
        if self._can_count:
            return run(cast(BrowsableVectorStore, self._vector_store).count())
        return self.count()

    def column(self, key: str, where: Where | None = None) -> dict[str, Any]:
        """Return the values of a metadata key, keyed by record id, without missing values.

        `usage.n_uses` and `usage.n_successes` are available if usage is stored. There are no marks.
        """
        name = COLUMNS.get(key, key) if self._keeps_usage else key
        values = {row["id"]: row["metadata"].get(name) for row in self.scan(where)}
        return {record_id: value for record_id, value in values.items() if value is not None}

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of each record, keyed by id. Empty usage if usage is not stored."""
        rows = self.get(list(ids)) if self._keeps_usage else []
        usage = {row["id"]: decode_usage(row["metadata"]) for row in rows}
        return {record_id: usage.get(record_id, NO_USAGE) for record_id in ids}

    def _keyword_scores(self, text: str | None, where: Where | None) -> tuple[dict[str, float], float]:
        """Return the scores of the records with any word of a text, keyed by id, and the estimated maximum score."""
        if text is None or not get_member(self._vector_store, "search_text"):
            return {}, 0.0
        n_requested = run(self._store.count()) if self._can_count else FIRST_REQUESTED
        result = run(self._store.search_text(text, n_requested, where))
        if not result.ids:
            return {}, 0.0
        distances = zip(result.ids, result.distances, strict=True)
        scores = {record_id: max(0.0, 1.0 / max(distance, 1e-6) - 1.0) for record_id, distance in distances}
        query_words, best_document = set(text.lower().split()), result.documents[0].lower()
        n_matching_words = max(1, sum(word in best_document for word in query_words))
        return scores, max(scores.values()) * max(1, len(query_words)) / n_matching_words

    def _all_rows(self) -> QueryResult:
        """Return all records, as neighbours of an arbitrary vector. Without `count`, k grows until all are found."""
        if self._can_count:
            n_records = run(self._store.count())
            return run(self._store.query(self._arbitrary_vector, n_records)) if n_records else NO_RESULT
        n_requested = FIRST_REQUESTED
        while len((result := run(self._store.query(self._arbitrary_vector, n_requested))).ids) == n_requested:
            n_requested *= 4
        return result

    @property
    def _can_count(self) -> bool:
        return callable(get_member(self._vector_store, "count"))

    @property
    def _arbitrary_vector(self) -> list[float]:
        """An arbitrary vector to query with."""
        return [1.0] + [0.0] * (self._dimension - 1)

    def _rows(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return records with embeddings in the store's format, or raise `NotFound` if one does not exist."""
        rows_by_id = {row["id"]: row for row in self.get(list(ids))}
        for record_id in ids:
            if record_id not in rows_by_id:
                raise NotFound(f"there is no record {record_id!r}; it may have been deleted")
            if rows_by_id[record_id].get("embedding") is None:
                raise InvalidInput(
                    f"the vector store {type(self._vector_store).__name__!r} returns no embedding of record "
                    f"{record_id!r}, which is needed to replace it; its `get` should return dicts of `id`, "
                    "`embedding`, `metadata`, `document`"
                )
        return [
            rows_by_id[record_id] | {"embedding": self._to_stored_embedding(rows_by_id[record_id]["embedding"])}
            for record_id in ids
        ]

    def _replace_rows(
        self,
        old_rows: Sequence[Row],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Replace records by the store's `update`, or else by deleting and adding them."""
        ids = [row["id"] for row in old_rows]
        vectors = [self._to_stored_embedding(embedding) for embedding in embeddings]
        if may_be_awaited(self._vector_store, "update"):
            run(self._store.update(ids, vectors, metadatas, documents), is_shielded=True)
            return
        columns = zip(ids, vectors, metadatas, documents, strict=True)
        new_rows = [
            {"id": record_id, "embedding": vector, "metadata": metadata, "document": document}
            for record_id, vector, metadata, document in columns
        ]
        run(replace_records(self._store, old_rows, new_rows), is_shielded=True)

    def _to_stored_embedding(self, embedding: npt.ArrayLike) -> list[Any]:
        """Return an embedding in the store's format: all windows, or only the first vector."""
        return to_list(np.atleast_2d(np.asarray(embedding))[: None if self._takes_windows else 1])


def to_list(embedding: npt.ArrayLike) -> list[Any]:
    """Return an embedding as a list of numbers, or, for several windows, as a list of such lists."""
    windows: list[Any] = np.atleast_2d(np.asarray(embedding, np.float32)).tolist()
    return windows[0] if len(windows) == 1 else windows


def _best_similarity(windows: npt.ArrayLike, vector: npt.ArrayLike) -> float:
    """Return the highest cosine of a vector with the windows of a record."""
    rows, query = np.atleast_2d(np.asarray(windows, np.float32)), np.asarray(vector, np.float32).ravel()
    cosines = rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))
    return float(cosines.max())
