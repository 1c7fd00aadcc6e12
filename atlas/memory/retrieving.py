"""Finding records of one collection for a query: both channels asked, everything ranked by the one ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from atlas.core.codec import check_text
from atlas.core.hits import Candidates, Hit, Retrieval
from atlas.core.operations import Usage
from atlas.core.settings import RankingWeights
from atlas.core.types import Vector
from atlas.infra.passages import best_passage
from atlas.memory.backing import PlainStore
from atlas.memory.calibrating import LiveCalibration
from atlas.memory.columns import first_vectors
from atlas.memory.ranking import (
    Candidate,
    candidates_of,
    check_diversity,
    check_k,
    check_threshold,
    diversified,
    overfetch,
    rank,
)
from atlas.memory.reranking import RERANKED, Reranked, rerank
from atlas.protocols.infra import Clock, Where, WholeEmbedder
from atlas.protocols.strategies import Reranker
from atlas.storage.vector_store import LedgerVectorStore

QUERY_CHARACTERS = 50_000
"""Of a query that are compared by meaning: far more than anybody asks, and a megabyte would take seconds."""

MOST_CANDIDATES = 2_000
"""Candidates of either kind among which distinct ones are looked for."""


@dataclass(slots=True)
class Retriever:
    """Gives the ids of a collection's records as hits; whoever holds the records says what they are."""

    store: LedgerVectorStore | PlainStore
    embedder: WholeEmbedder
    weights: Callable[[], RankingWeights]
    """Asked at every search: another process may have chosen others."""

    clock: Clock
    reranker: Reranker | None = None
    """None, as is usual, for the order that the weights give."""

    prior: Callable[[Usage], float] | None = None
    """What stands for success where records have no outcome of their own; see `candidates_of`."""

    _calibration: LiveCalibration = field(init=False)

    def __post_init__(self) -> None:
        self._calibration = LiveCalibration(self.store, self.embedder.model_name)

    def changed(self, **changes: Any) -> Retriever:
        """This one with other parts, which shares what was measured of the store."""
        made = replace(self, **changes)
        made._calibration = self._calibration
        return made

    def retrieve(
        self,
        query: str,
        k: int,
        *,
        where: Where | None = None,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
        with_buried: bool = False,
    ) -> Retrieval[str]:
        """The k best for a query, by meaning and by words, of those that are relevant enough.

        Args:
            threshold: The relevance that a hit has at least, in [0, 1]; None for that of the weights.
            distinct: Whether attempts at one task that are alike become one hit.
            diversity: How much a hit loses that is like one above it, in [0, 1); see `diversified`.
        """
        check_k(k)
        check_diversity(diversity)
        check_text(query, "the query")
        weights = self.weights()
        least = weights.threshold if threshold is None else threshold
        check_threshold(least)
        if not k or not query.strip() or self.store.is_empty():
            return Retrieval(hits=[], n_hidden=0, threshold=least)
        vector = self._encode(query)
        n = overfetch(k)
        while True:
            found = self.store.candidates(vector, query, n, where, with_buried=with_buried)
            candidates = self._known(found)
            every = self._ranked(candidates, weights)
            hits = [hit for hit in every if hit.relevance >= least]
            if distinct:
                hits = self._ranked(candidates, weights, threshold=least, distinct=True)
            if not distinct or len(hits) >= k or len(candidates) < n or n >= MOST_CANDIDATES:
                break
            n *= 4  # so many were alike that they left no room for others
        if distinct:
            every = self._ranked(candidates, weights, distinct=True)
        n_hidden = sum(hit.relevance < least for hit in every[:k])
        reranked = self._reranked(hits, query)
        hits = self._diversified(reranked.hits, k, diversity)
        return Retrieval(hits=hits[:k], n_hidden=n_hidden, threshold=least, problems=reranked.problems)

    def near(self, vector: Vector, k: int, *, with_buried: bool = False) -> list[Hit[str]]:
        """The k nearest to a vector, by meaning alone."""
        found = self.store.candidates(vector, None, overfetch(k), with_buried=with_buried)
        weights = self.weights()
        return self._ranked(self._known(found), replace(weights, words=0.0))[:k]

    def passage(self, row: Mapping[str, Any], query: str) -> str | None:
        """The passage of a record's text that is nearest to a query; None where the model reads all of it at once.

        Args:
            row: The record with its `document` and its `embedding`.
        """
        vectors, document = np.atleast_2d(row["embedding"]), row["document"]
        if len(vectors) == 1 or not query.strip():
            return None
        vector = self._encode(query)
        span = best_passage(self.embedder, document, vectors, vector)
        return document[slice(*span)] if span else None

    def _reranked(self, hits: list[Hit[str]], query: str) -> Reranked:
        if self.reranker is None:
            return Reranked(hits)
        rows = self.store.peek([hit.item for hit in hits[:RERANKED]])
        return rerank(hits, query, {row["id"]: row["document"] for row in rows}, self.reranker)

    def _diversified(self, hits: list[Hit[str]], k: int, diversity: float) -> list[Hit[str]]:
        if not diversity:
            return hits
        among = hits[: overfetch(k)]
        vectors = first_vectors([hit.item for hit in among], self.store, self.embedder.dimension)
        return diversified(among, vectors, diversity)

    def _encode(self, query: str) -> Vector:
        encode = getattr(self.embedder, "encode_query", self.embedder.encode)
        vector: Vector = encode(query[:QUERY_CHARACTERS])
        return vector

    def _known(self, found: Candidates) -> list[Candidate[str]]:
        """What was found with what else the ranking asks for."""
        usage, marks = self.store.usage(found.ids), self.store.marks(found.ids)
        return candidates_of(found, usage, {record_id: held.pinned for record_id, held in marks.items()}, self.prior)

    def _ranked(
        self,
        candidates: list[Candidate[str]],
        weights: RankingWeights,
        *,
        threshold: float = 0.0,
        distinct: bool = False,
    ) -> list[Hit[str]]:
        scale, now = self._calibration.now(), self.clock.now()
        return rank(candidates, weights, scale, now, threshold=threshold, distinct=distinct)
