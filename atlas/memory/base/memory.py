"""The base class of memories: the records of a collection as objects, found by a query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from atlas.core.errors import NotFound
from atlas.core.hits import Hit, Retrieval, check_limit, clamp_limit, hit_without_signals
from atlas.core.json_values import check_text
from atlas.core.ranking.level import LevelCosts
from atlas.core.settings import RankingWeights
from atlas.core.types import Vector, VectorRecord, Vectors, attach_embedding
from atlas.embedding.met_words import MetWords, met_words
from atlas.embedding.plain import whole_embedder
from atlas.infra.twin import twin
from atlas.memory.base.ranking import check_threshold
from atlas.memory.base.records import Records, parse_ids
from atlas.memory.base.retriever import RankedRecords, Retriever, Search
from atlas.protocols.infra import Clock, Embedder, VectorStore, Where, WholeEmbedder
from atlas.protocols.strategies import Reranker, SuccessRateUpdater
from atlas.storage.collection import Collection
from atlas.storage.plain.collection import as_collection
from atlas.storage.plain.scoped_store import MemoryScope
from atlas.storage.records import Context, Moment

T = TypeVar("T")

Weights = RankingWeights | Callable[[], RankingWeights]
"""Ranking weights, or a function that returns them for each search, because another process may change them."""

Row = Mapping[str, Any]
"""A record as a store returns it: `id`, `document`, `metadata`, `embedding`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults(Generic[T]):
    """The ranked hits of a search, and the records from which their final order is computed, from one snapshot."""

    ranked: RankedRecords
    items: Mapping[str, T]
    """The records of the first hits, keyed by id."""

    documents: Mapping[str, str]
    """The texts of these records, keyed by id."""

    vectors: Vectors
    """Vectors of the first hits, in the order of the hits. Empty for a search without diversity."""


class Memory(Records, ABC, Generic[T]):
    """The records of one collection as objects, found by a query."""

    noun: ClassVar[str]
    """Word for a record in error messages."""

    content_field: ClassVar[str]
    """Name of a field that only records of this memory have."""

    context: ClassVar[Context | None] = None
    """Log in which the words of later records count for earlier records, or None if records are independent."""

    def __init__(
        self,
        embedder: Embedder,
        vector_store: VectorStore | Collection,
        collection_name: str,
        weights: Weights,
        clock: Clock,
        reranker: Reranker | None = None,
        success_updater: SuccessRateUpdater | None = None,
    ) -> None:
        self.embedder = whole_embedder(embedder)
        scope = MemoryScope(collection=collection_name, content_field=self.content_field)
        store = as_collection(vector_store, self.embedder.dimension, scope, keeps_usage=success_updater is not None)
        super().__init__(store, collection_name, clock)
        self.success_updater = success_updater
        self._weights = _as_function(weights)
        self._retriever = Retriever(self._store, self.embedder, self._weights, clock, reranker, context=self.context)

    @abstractmethod
    def _to_records(self, rows: Sequence[Row]) -> list[T]:
        """Return rows as records, in their order."""

    def _records_with_vectors(self, rows: Sequence[Row]) -> list[T]:
        """Return rows as records, in their order. Attach the vector of each row that has one."""
        items = self._to_records(rows)
        for item, row in zip(items, rows, strict=True):
            if isinstance(item, VectorRecord) and row.get("embedding") is not None:
                attach_embedding(item, row["embedding"])
        return items

    def as_operation(
        self,
        kind: str,
        reason: str = "",
        *,
        operation_id: str | None = None,
        unchanged_since: Mapping[str, Moment] | None = None,
        scrubs: bool = True,
    ) -> Self:
        """Return a view of this memory whose writes form one operation, which is undone as a whole.

        Args:
            operation_id: `operation_id` of another memory, to join its operation. By default, a new one begins.
            unchanged_since: Result of `collection.moment()` when each record was read, keyed by the record's id. A
                write raises `RecordChanged` if another operation has changed the record or its marks since.
            scrubs: Whether to replace secrets in new records. Use False if they were replaced already.
        """
        view = copy(self)
        view._scrubs = self._scrubs and scrubs
        view._store = self._store.as_operation(kind, reason, operation_id, unchanged_since=unchanged_since)
        return view

    def ranked_with(
        self,
        weights: Weights,
        *,
        embedder: WholeEmbedder | None = None,
        store: Collection | None = None,
        reranked: bool = True,
        compares_tokens: bool = True,
    ) -> Self:
        """Return a copy of this memory that ranks with other weights, with the same clock and calibration.

        Args:
            embedder: Another embedder that returns the same vectors.
            store: Another view of the same records.
            reranked: Whether the reranker is used.
            compares_tokens: Whether tokens are compared, if the store has their vectors.
        """
        ranked_copy = copy(self)
        ranked_copy._store = store or self._store
        ranked_copy.embedder = embedder or self.embedder
        ranked_copy._weights = _as_function(weights)
        ranked_copy._retriever = self._retriever.with_changes(
            store=ranked_copy._store,
            embedder=ranked_copy.embedder,
            weights=ranked_copy._weights,
            reranker=self._retriever.reranker if reranked else None,
            compares_tokens=compares_tokens,
        )
        return ranked_copy

    def exclude(self, ids: Sequence[str]) -> Self:
        """Return a copy of this memory whose searches skip these records, to measure the effect of their removal."""
        return self.ranked_with(self._weights, store=self._store.exclude(ids))

    within, without = as_operation, exclude  # their names in version 0.2

    @property
    def collection(self) -> Collection:
        """The collection of the records."""
        return self._store

    @property
    def vector_store(self) -> VectorStore:
        """The records as a `VectorStore`: the plugged-in store, if there is one, or else an adapter."""
        return self._store.vector_store

    @property
    def weights(self) -> RankingWeights:
        """The current ranking weights."""
        return self._weights()

    def get(self, record_id: str) -> T | None:
        """Return a record by its id, or None."""
        items = self._records_with_vectors(self._store.get([record_id]))
        return items[0] if items else None

    aget = twin(get)

    def get_many(self, record_ids: Sequence[str]) -> list[T]:
        """Return the records with these ids, in this order. Ids without a record are skipped."""
        return self._records_with_vectors(self._store.get(parse_ids(record_ids)))

    aget_many = twin(get_many)

    def embedding(self, record_id: str) -> Vector:
        """Return the vector of a record's whole text: shape (dim,), float32, unit length.

        Raises:
            NotFound: The record does not exist.
        """
        vectors = self._store.first_vectors([record_id])
        if record_id not in vectors:
            raise not_found_error(self.noun, record_id)
        return vectors[record_id]

    aembedding = twin(embedding)

    def forget(self, ids: Sequence[str]) -> int:
        """Delete records that the current actor stored, as one operation, and return the number of deleted ones.

        Raises:
            NotFound: One of the ids does not exist; nothing was deleted.
            NotAllowed: Another actor stored one of the records; nothing was deleted.
        """
        operation = self if self.operation_id else self.as_operation("forget")
        record_ids = parse_ids(ids)
        operation.collection.check_may_change(record_ids)
        return operation.delete(record_ids)

    aforget = twin(forget)

    def search_hits(
        self,
        query: str,
        k: int = 4,
        *,
        where: Where | None = None,
        count_retrieval: bool = True,
        with_buried: bool = False,
    ) -> list[Hit[T]]:
        """Return hits for a query, best first, each with its similarity and the signals that add up to its rank value.

        Args:
            where: Filter, applied before ranking.
            count_retrieval: Whether the hits count as retrieved, for `prune`. Use False for browsing.
            with_buried: Whether records that are buried or wait for review are searched too.
        """
        if not clamp_limit(k):
            return []
        retrieval = self.retrieve(
            query, k, where=where, threshold=0.0, count_retrieval=count_retrieval, with_buried=with_buried
        )
        return retrieval.hits

    asearch_hits = twin(search_hits)

    def retrieve(
        self,
        query: str,
        k: int = 4,
        *,
        where: Where | None = None,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
        domain: str = "",
        count_retrieval: bool = True,
        with_buried: bool = False,
    ) -> Retrieval[T]:
        """Return the hits of `search_hits` above a relevance threshold, and the number of hits below it.

        Args:
            threshold: Minimum relevance of a hit, in [0, 1]. With None, there is no hit if the best one is below the
                store's level. Otherwise the best hit and those near it are returned.
            distinct: Whether similar attempts at the same task become one hit that counts their outcomes. There may be
                fewer than k hits if a task has thousands of attempts.
            diversity: Share of the rank value, in [0, 1), that a near-copy of a higher hit loses; 0.2 is usual. Hits
                below the threshold stay out.
            domain: Domain whose records come first among hits of similar relevance. `where={"domain": …}` leaves
                others out.

        If the reranker or a remote index fails, the hits are found without it, and `problems` contains the reason.
        `notes` lists names in the filter that no record has.

        Raises:
            InvalidInput: k is below 1, or the filter contains a misspelt name.
        """
        search = Search(
            query=query,
            k=k,
            where=where,
            threshold=threshold,
            distinct=distinct,
            diversity=diversity,
            domain=domain,
            with_buried=with_buried,
        )
        return self._search(self._prepare(search), count_retrieval=count_retrieval)

    aretrieve = twin(retrieve)

    # Steps of `retrieve`, for callers that search several memories in one snapshot

    def _prepare(self, search: Search) -> Search:
        """Return a search after checking its arguments, with the vector of its query. See `Retriever.prepare`."""
        notes = self.filter_notes(search.where) if search.where else ()
        where = self._effective_filter(search.where, search.with_buried)
        return self._retriever.prepare(replace(search, where=where, notes=notes))

    def _search(self, search: Search, *, count_retrieval: bool) -> Retrieval[T]:
        """Run a prepared search in one snapshot of the store, and return its hits."""
        with self._store.reading():
            findings = self._find(search)
        return self._finish(search, findings, count_retrieval=count_retrieval)

    def _find(self, search: Search) -> SearchResults[T]:
        """Return the ranked hits of a search, with the full records of the first ones.

        Call it inside a read transaction.
        """
        excluded = set() if search.with_buried else self._excluded_ids()
        ranked_records = self._retriever.find(search, len(excluded))
        hits = [hit for hit in ranked_records.hits if hit.item not in excluded]
        rows = self._store.get([hit.item for hit in hits[: self._retriever.n_to_read(search)]])
        return SearchResults(
            ranked=replace(ranked_records, hits=hits),
            items=dict(zip([row["id"] for row in rows], self._records_with_vectors(rows), strict=True)),
            documents={row["id"]: row["document"] for row in rows},
            vectors=self._retriever.vectors(hits, search),
        )

    def _finish(self, search: Search, findings: SearchResults[T], *, count_retrieval: bool) -> Retrieval[T]:
        """Return the hits of a search in their final order, and count them as retrieved if requested."""
        ordered_hits = self._retriever.order_hits(findings.ranked.hits, search, findings.documents, findings.vectors)
        hits = [hit for hit in ordered_hits.hits if hit.item in findings.items]
        if count_retrieval:
            self._store.count_retrievals([hit.item for hit in hits])
        return Retrieval(
            hits=[hit.with_item(findings.items[hit.item]) for hit in hits],
            n_hidden=findings.ranked.n_hidden,
            threshold=findings.ranked.threshold,
            problems=(*ordered_hits.problems, self._store.problem) if self._store.problem else ordered_hits.problems,
            notes=search.notes,
        )

    def _excluded_ids(self) -> set[str]:
        """Return the ids that searches exclude by default. Most memories exclude none."""
        return set()

    def search_words(
        self,
        words: str,
        k: int = 20,
        *,
        where: Where | None = None,
        with_buried: bool = False,
        as_typed: bool = True,
    ) -> list[T]:
        """Return records that contain any of these words, the best BM25 score first.

        Args:
            as_typed: Whether the last word is a prefix (`heart` finds heartbeat), and quoted phrases must match
                exactly.
        """
        check_text(words, "the query")
        self.filter_notes(where)
        if not clamp_limit(k):
            return []
        result = self._store.search_text(words, k, where, with_buried=with_buried, as_typed=as_typed)
        return self._records_with_vectors(self._store.get(result.ids))

    asearch_words = twin(search_words)

    def retrieve_words(
        self, query: str, k: int = 4, *, where: Where | None = None, threshold: float | None = None, domain: str = ""
    ) -> Retrieval[T]:
        """Return the hits of a search by keywords, without an embedding. Empty if the matches may be accidental.

        Args:
            threshold: Minimum IDF-weighted share of the query's words in a hit, in [0, 1], or None for the memory's own
                level. 0 admits any match.
            domain: See `retrieve`.
        """
        check_limit(k)
        check_text(query, "the query")
        if threshold is not None:
            check_threshold(threshold)
        notes = self.filter_notes(where)
        with self._store.reading():
            ranked_records = self._retriever.find_words(query, k, where, threshold, domain)
            items = self._records_with_vectors(self._store.get([hit.item for hit in ranked_records.hits]))
        return Retrieval(
            hits=[hit_without_signals(item) for item in items],
            n_hidden=ranked_records.n_hidden,
            threshold=ranked_records.threshold,
            by_words=True,
            notes=notes,
        )

    aretrieve_words = twin(retrieve_words)

    def similar(
        self,
        record_id: str,
        k: int = 4,
        *,
        where: Where | None = None,
        threshold: float = 0.0,
        with_buried: bool = False,
    ) -> list[Hit[T]]:
        """Return hits for the k other records nearest in meaning to a record, best first.

        Args:
            where: Filter, applied before ranking.
            threshold: Minimum relevance of a hit, in [0, 1].
            with_buried: Whether records that are buried or wait for review are searched too.

        Raises:
            NotFound: The record does not exist.
            InvalidInput: The threshold is not in [0, 1], or the filter contains a misspelt name.
        """
        k = clamp_limit(k)
        check_threshold(threshold)
        checked_filter = self._validate_filter(where)
        with self._store.reading():
            vector = np.atleast_2d(self._existing_row(record_id)["embedding"])[0]
            hits = self._retriever.find_neighbours(vector, k + 1, where=checked_filter, with_buried=with_buried)
            neighbours = [hit for hit in hits if hit.item != record_id and hit.relevance >= threshold]
            return self._with_records(neighbours[:k])

    asimilar = twin(similar)

    def passage(self, record_id: str, query: str) -> str | None:
        """Return the passage of a record's text that is nearest to a query.

        Return None if the text is short enough to be embedded as a whole.

        Raises:
            NotFound: The record does not exist.
        """
        check_text(query, "the query")
        return self._retriever.passage(self._existing_row(record_id), query)

    apassage = twin(passage)

    def met_words(self, record_id: str, query: str) -> list[MetWords]:
        """Return pairs of different words with similar meanings, one of the query and one of the record, nearest first.

        An example is `refund` and `reimbursement`. Only the nearest passage of a long text is compared. Empty if the
        embedding model has no word vectors.

        Raises:
            NotFound: The record does not exist.
        """
        check_text(query, "the query")
        row = self._existing_row(record_id)
        return met_words(self.embedder, query, self._retriever.passage(row, query) or row["document"])

    amet_words = twin(met_words)

    def calibrate(self) -> None:
        """Measure the relevance level of this memory, and store it.

        Call it after a large import. Otherwise the first search measures, and takes a second or two longer.
        """
        self._retriever.calibrate()

    acalibrate = twin(calibrate)

    def level(self) -> float:
        """Return the relevance level, in [0, 1]. A search whose best hit is below the level returns no hits."""
        return self._retriever.level()

    alevel = twin(level)

    def level_costs(self, strictness: float | None = None) -> LevelCosts | None:
        """Return the level with its error rates, or None if it was not measured, as in a store of few records.

        Args:
            strictness: Factor on the measured level, or None for the store's strictness.
        """
        return self._retriever.level_costs(strictness)

    alevel_costs = twin(level_costs)

    def shown_hits(self, query: str, hits: Sequence[Hit[str]], strictness: float) -> list[Hit[str]]:
        """Return those of the given hits that a search with this strictness would return.

        Args:
            query: The query of the hits.
            hits: All or some hits of `search_hits` for the query.
        """
        return self._retriever.shown_hits(query, hits, strictness)

    ashown_hits = twin(shown_hits)

    def _effective_filter(self, where: Where | None, with_buried: bool) -> Where | None:
        """Return the filter of a search, or None for all records.

        Subclasses may add conditions of their own if `with_buried` is False.
        """
        return where

    def _existing_row(self, record_id: str) -> Row:
        """Return the row of a record, or raise `NotFound`."""
        rows = self._store.get([record_id])
        if not rows:
            raise not_found_error(self.noun, record_id)
        return rows[0]

    def _with_records(self, hits: Sequence[Hit[str]]) -> list[Hit[T]]:
        """Return the hits with records in place of ids. Hits of deleted records are left out."""
        rows = self._store.get([hit.item for hit in hits])
        items = dict(zip([row["id"] for row in rows], self._records_with_vectors(rows), strict=True))
        return [hit.with_item(items[hit.item]) for hit in hits if hit.item in items]


def not_found_error(noun: str, record_id: str) -> NotFound:
    """Return the `NotFound` error for a record that does not exist.

    Args:
        noun: Word for the kind of record, such as `experience`.
    """
    return NotFound(f"there is no {noun} {record_id!r}; it may have been deleted (see: atlas history)")


def _as_function(weights: Weights) -> Callable[[], RankingWeights]:
    if isinstance(weights, RankingWeights):
        return lambda: weights
    return weights
