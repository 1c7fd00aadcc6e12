"""A memory: records of a collection as objects, found by a query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from atlas.core.errors import NotFound
from atlas.core.hits import Hit, Retrieval, check_limit, limit_of_list, unexplained
from atlas.core.json_values import check_text
from atlas.core.ranking.level import LevelCosts
from atlas.core.settings import RankingWeights
from atlas.core.types import Vector, VectorRecord, Vectors, attach_embedding
from atlas.embedding.met_words import MetWords, met_words
from atlas.embedding.plain import whole_embedder
from atlas.infra.twin import twin
from atlas.memory.base.ranking import check_threshold
from atlas.memory.base.records import Records, listed
from atlas.memory.base.retriever import RankedRecords, Retriever, Search
from atlas.protocols.infra import Clock, Embedder, VectorStore, Where, WholeEmbedder
from atlas.protocols.strategies import Reranker, SuccessRateUpdater
from atlas.storage.collection import Collection
from atlas.storage.plain.collection import backing
from atlas.storage.plain.scoped_store import Scope
from atlas.storage.records import Context, Moment

T = TypeVar("T")

Weights = RankingWeights | Callable[[], RankingWeights]
"""The weights to rank with, or a function that gives them at every search: another process may have chosen others."""

Row = Mapping[str, Any]
"""A record as a store gives it: `id`, `document`, `metadata`, `embedding`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings(Generic[T]):
    """The findings of a search in one state of the store."""

    ranked: RankedRecords
    items: Mapping[str, T]
    """The items that the first hits stand for, by id."""

    documents: Mapping[str, str]
    """Their texts, by id."""

    vectors: Vectors
    """The ones of the first hits, in their order, where the search asks for diversity."""


class Memory(Records, ABC, Generic[T]):
    """The records of one collection as objects, found by a query."""

    noun: ClassVar[str]
    """The name of one of them, in errors."""

    content_field: ClassVar[str]
    """A field that the content of its records has, and that of no other memory's."""

    context: ClassVar[Context | None] = None
    """Whose words count for the records before them. None if each stands for itself."""

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
        scope = Scope(collection=collection_name, content_field=self.content_field)
        store = backing(vector_store, self.embedder.dimension, scope, keeps_usage=success_updater is not None)
        super().__init__(store, collection_name, clock)
        self.success_updater = success_updater
        self._weights = _as_function(weights)
        self._retriever = Retriever(self._store, self.embedder, self._weights, clock, reranker, context=self.context)

    @abstractmethod
    def _read(self, rows: Sequence[Row]) -> list[T]:
        """Return the items that rows stand for, in their order."""

    def _items(self, rows: Sequence[Row]) -> list[T]:
        """Return the items that rows stand for, each with its vector if it has one."""
        items = self._read(rows)
        for item, row in zip(items, rows, strict=True):
            if isinstance(item, VectorRecord) and row.get("embedding") is not None:
                attach_embedding(item, row["embedding"])
        return items

    def within(
        self,
        kind: str,
        reason: str = "",
        *,
        operation_id: str | None = None,
        unchanged_since: Mapping[str, Moment] | None = None,
        scrubs: bool = True,
    ) -> Self:
        """Return this memory, all of whose writes are one operation in the history, undone as a whole.

        Args:
            operation_id: That of the operation which another memory's `within` began, for writes that belong to it.
            unchanged_since: Moments by the ids of records, as `collection.moment()` gives them. A write of such a
                record raises `RecordChanged` if another operation has changed it or its marks since.
            scrubs: False if secrets in the new records were replaced already.
        """
        scoped = copy(self)
        scoped._scrubs = self._scrubs and scrubs
        scoped._store = self._store.within(kind, reason, operation_id, unchanged_since=unchanged_since)
        return scoped

    def ranked_with(
        self,
        weights: Weights,
        *,
        embedder: WholeEmbedder | None = None,
        store: Collection | None = None,
        reranked: bool = True,
        compares_tokens: bool = True,
    ) -> Self:
        """Return this memory, ranked with other weights. Its clock and its measurements of the store stay.

        Args:
            embedder: In place of its own, one that gives the same vectors.
            store: In place of its own, one that gives the same records.
            reranked: Whether its reranker has a part in it.
            compares_tokens: Whether word pieces are compared, where the store keeps their vectors.
        """
        ranked = copy(self)
        ranked._store = store or self._store
        ranked.embedder = embedder or self.embedder
        ranked._weights = _as_function(weights)
        ranked._retriever = self._retriever.changed(
            store=ranked._store,
            embedder=ranked.embedder,
            weights=ranked._weights,
            reranker=self._retriever.reranker if reranked else None,
            compares_tokens=compares_tokens,
        )
        return ranked

    @property
    def collection(self) -> Collection:
        """Where the records are."""
        return self._store

    @property
    def vector_store(self) -> VectorStore:
        """Where the records are, as the specification's vector store: the one that was plugged in, if one was."""
        return self._store.vector_store

    @property
    def weights(self) -> RankingWeights:
        """The weights that a search ranks with now."""
        return self._weights()

    def get(self, record_id: str) -> T | None:
        """Return a record by its id, or None."""
        found = self._items(self._store.get([record_id]))
        return found[0] if found else None

    aget = twin(get)

    def get_many(self, record_ids: Sequence[str]) -> list[T]:
        """Return the records that exist, in this order."""
        return self._items(self._store.get(listed(record_ids)))

    aget_many = twin(get_many)

    def embedding(self, record_id: str) -> Vector:
        """Return the vector that finds one: shape (dim,), float32, unit length. That of the whole of a long text.

        Raises:
            NotFound: It does not exist.
        """
        vectors = self._store.first_vectors([record_id])
        if record_id not in vectors:
            raise not_found(self.noun, record_id)
        return vectors[record_id]

    aembedding = twin(embedding)

    def search_hits(
        self,
        query: str,
        k: int = 4,
        *,
        where: Where | None = None,
        count_retrieval: bool = True,
        with_buried: bool = False,
    ) -> list[Hit[T]]:
        """Return hits as `search` finds them, each with its similarity and the signals that make up its rank value.

        Args:
            where: Only those that pass this filter, as if there were no others.
            count_retrieval: Whether the hits count as retrieved, which `prune` asks for; a person's browsing does not.
            with_buried: Whether those that a person has buried are found too.
        """
        if not limit_of_list(k):
            return []
        found = self.retrieve(
            query, k, where=where, threshold=0.0, count_retrieval=count_retrieval, with_buried=with_buried
        )
        return found.hits

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
        count_retrieval: bool = True,
        with_buried: bool = False,
    ) -> Retrieval[T]:
        """Return hits as `search_hits` does, but without those below a relevance, and how many those are.

        Args:
            threshold: The relevance that a hit has at least, in [0, 1]. None for what the store's level and the
                strictness of the weights make of it: no hit if the best one does not reach the level, else the best
                hit and those near it.
            distinct: Whether attempts at one task that are alike become one hit, which says how those went that were
                looked at, so that k hits are k different things. There may be fewer where one task has thousands.
            diversity: In [0, 1): the share of its value that a hit loses which is a near-copy of one above it, whatever
                its task; 0.2 is usual. What is below the threshold stays out.

        If the memory's reranker fails, or the service that keeps its index, the answer is that without it, and
        `problems` contains the reason. `notes` names what the filter asks for and every record lacks.

        Raises:
            InvalidInput: k is below 1, or a name in the filter is near one that exists.
        """
        search = self._prepared(
            query,
            k,
            where=where,
            threshold=threshold,
            distinct=distinct,
            diversity=diversity,
            with_buried=with_buried,
        )
        return self._searched(search, count_retrieval=count_retrieval)

    aretrieve = twin(retrieve)

    # Steps of the above, for whoever asks several memories in one state of their store

    def _prepared(
        self, query: str, k: int, *, where: Where | None = None, with_buried: bool = False, **options: Any
    ) -> Search:
        """Check the parameters, and embed the query. See `Retriever.prepare`."""
        notes = self.filter_notes(where)
        among = self._among(where, with_buried)
        return self._retriever.prepare(query, k, where=among, with_buried=with_buried, notes=notes, **options)

    def _searched(self, search: Search, *, count_retrieval: bool) -> Retrieval[T]:
        """Return the hits of a search, in one state of the store."""
        with self._store.reading():
            found = self._find(search)
        return self._answer(search, found, count_retrieval=count_retrieval)

    def _find(self, search: Search) -> Findings[T]:
        """Return the findings of a search, read whole. Call it inside one state of the store."""
        withheld = set() if search.with_buried else self._withheld()
        ranked = self._retriever.find(search, len(withheld))
        hits = [hit for hit in ranked.hits if hit.item not in withheld]
        rows = self._store.get([hit.item for hit in hits[: self._retriever.n_read(search)]])
        return Findings(
            ranked=replace(ranked, hits=hits),
            items=dict(zip([row["id"] for row in rows], self._items(rows), strict=True)),
            documents={row["id"]: row["document"] for row in rows},
            vectors=self._retriever.vectors(hits, search),
        )

    def _answer(self, search: Search, found: Findings[T], *, count_retrieval: bool) -> Retrieval[T]:
        """Return the hits among the findings of a search, and count them as retrieved if asked to."""
        ordered = self._retriever.ordered(found.ranked.hits, search, found.documents, found.vectors)
        hits = [hit for hit in ordered.hits if hit.item in found.items]
        if count_retrieval:
            self._store.note_retrievals([hit.item for hit in hits])
        return Retrieval(
            hits=[hit.of(found.items[hit.item]) for hit in hits],
            n_hidden=found.ranked.n_hidden,
            threshold=found.ranked.threshold,
            problems=(*ordered.problems, *filter(None, [self._store.problem])),
            notes=search.notes,
        )

    def _withheld(self) -> set[str]:
        """Return the ids of those that a search leaves out, unless it asks for buried ones. None, for most memories."""
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
            as_typed: Whether the last word may be the beginning of one (`heart` finds heartbeat), and only those are
                found that hold what stands between quotation marks, word for word; else all are words.
        """
        check_text(words, "the query")
        self.filter_notes(where)
        if not limit_of_list(k):
            return []
        found = self._store.search_text(words, k, where, with_buried=with_buried, as_typed=as_typed)
        return self._items(self._store.get(found.ids))

    asearch_words = twin(search_words)

    def retrieve_words(
        self, query: str, k: int = 4, *, where: Where | None = None, threshold: float | None = None
    ) -> Retrieval[T]:
        """Return the records with most of a query's words. Empty if that may be chance.

        Args:
            threshold: Least share of the query's words that a hit holds, in [0, 1], rare ones weighted. None for the
                memory's own level, 0 for whatever holds a word.
        """
        check_limit(k)
        check_text(query, "the query")
        if threshold is not None:
            check_threshold(threshold)
        notes = self.filter_notes(where)
        with self._store.reading():
            found = self._retriever.find_words(query, k, where, threshold)
            items = self._items(self._store.get([hit.item for hit in found.hits]))
        return Retrieval(
            hits=[unexplained(item) for item in items],
            n_hidden=found.n_hidden,
            threshold=found.threshold,
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
        """Return the k records that are nearest to one in meaning, best first, without itself.

        Args:
            where: Only those that pass this filter, as if there were no others.
            threshold: The relevance that a hit has at least, in [0, 1].
            with_buried: Whether those that a person has buried are found too.

        Raises:
            NotFound: It does not exist.
            InvalidInput: An impossible threshold, or a name in the filter is near one that exists.
        """
        k = limit_of_list(k)
        check_threshold(threshold)
        among = self._checked(where)
        with self._store.reading():
            vector = np.atleast_2d(self._row(record_id)["embedding"])[0]
            hits = self._retriever.near(vector, k + 1, where=among, with_buried=with_buried)
            near = [hit for hit in hits if hit.item != record_id and hit.relevance >= threshold]
            return self._whole(near[:k])

    asimilar = twin(similar)

    def passage(self, record_id: str, query: str) -> str | None:
        """Return the passage of its text that is nearest to a query, by which the text was found.

        None if the text is one that the model reads at once.

        Raises:
            NotFound: It does not exist.
        """
        check_text(query, "the query")
        return self._retriever.passage(self._row(record_id), query)

    apassage = twin(passage)

    def met_words(self, record_id: str, query: str) -> list[MetWords]:
        """Return words of a query that met other words of a record's text, nearest first: `refund`, `reimbursement`.

        Of a long text, those of the passage that is nearest. Empty if the embedding model reads no words.

        Raises:
            NotFound: It does not exist.
        """
        check_text(query, "the query")
        row = self._row(record_id)
        return met_words(self.embedder, query, self._retriever.passage(row, query) or row["document"])

    amet_words = twin(met_words)

    def calibrate(self) -> None:
        """Measure from which relevance on a search has an answer here, and keep that with the store.

        Searches do this by themselves, the first one in a second or two. So call it after a large import.
        """
        self._retriever.calibrate()

    acalibrate = twin(calibrate)

    def level(self) -> float:
        """Return the relevance that the best hit of a search needs for any to be shown, in [0, 1]."""
        return self._retriever.level()

    alevel = twin(level)

    def level_costs(self, strictness: float | None = None) -> LevelCosts | None:
        """Return the costs of the level on each side, or None before it was measured, as in a store of few records.

        Args:
            strictness: How many times the measured level. That of the store if it is None.
        """
        return self._retriever.level_costs(strictness)

    alevel_costs = twin(level_costs)

    def n_shown(self, query: str, hits: Sequence[Hit[str]], strictness: float) -> int:
        """Return how many of some hits a search shows where the store is so strict.

        Args:
            hits: What `search_hits` gives for the query at threshold 0, or some of it.
        """
        return self._retriever.n_shown(query, hits, strictness)

    an_shown = twin(n_shown)

    def _among(self, where: Where | None, with_buried: bool) -> Where | None:
        """Return the filter that a search goes by.

        A memory may leave out more than was asked, unless buried ones are too.
        """
        return where

    def _row(self, record_id: str) -> Row:
        rows = self._store.get([record_id])
        if not rows:
            raise not_found(self.noun, record_id)
        return rows[0]

    def _whole(self, hits: Sequence[Hit[str]]) -> list[Hit[T]]:
        """Return hits with their items."""
        rows = self._store.get([hit.item for hit in hits])
        items = dict(zip([row["id"] for row in rows], self._items(rows), strict=True))
        return [hit.of(items[hit.item]) for hit in hits if hit.item in items]


def not_found(noun: str, record_id: str) -> NotFound:
    """Return the error of a record that does not exist.

    Args:
        noun: The word for a record.
    """
    return NotFound(f"there is no {noun} {record_id!r}; it may have been deleted (see: atlas history)")


def _as_function(weights: Weights) -> Callable[[], RankingWeights]:
    return (lambda: weights) if isinstance(weights, RankingWeights) else weights
