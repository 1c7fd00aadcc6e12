"""Finding records of one collection for a query: both channels asked, everything ranked by the one ranking."""

from __future__ import annotations

import asyncio
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

    async def retrieve(
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
        weights = await asyncio.to_thread(self.weights)
        least = weights.threshold if threshold is None else threshold
        check_threshold(least)
        if not k or not query.strip() or await self.store.is_empty():
            return Retrieval(hits=[], n_hidden=0, threshold=least)
        vector = await asyncio.to_thread(self._encode, query)
        n = overfetch(k)
        while True:
            found = await self.store.candidates(vector, query, n, where, with_buried=with_buried)
            candidates = await self._known(found)
            every = await self._ranked(candidates, weights)
            hits = [hit for hit in every if hit.relevance >= least]
            if distinct:
                hits = await self._ranked(candidates, weights, threshold=least, distinct=True)
            if not distinct or len(hits) >= k or len(candidates) < n or n >= MOST_CANDIDATES:
                break
            n *= 4  # so many were alike that they left no room for others
        if distinct:
            every = await self._ranked(candidates, weights, distinct=True)
        n_hidden = sum(hit.relevance < least for hit in every[:k])
        reranked = await self._reranked(hits, query)
        hits = await self._diversified(reranked.hits, k, diversity)
        return Retrieval(hits=hits[:k], n_hidden=n_hidden, threshold=least, problems=reranked.problems)

    async def near(self, vector: Vector, k: int, *, with_buried: bool = False) -> list[Hit[str]]:
        """The k nearest to a vector, by meaning alone."""
        found = await self.store.candidates(vector, None, overfetch(k), with_buried=with_buried)
        weights = await asyncio.to_thread(self.weights)
        return (await self._ranked(await self._known(found), replace(weights, words=0.0)))[:k]

    async def passage(self, row: Mapping[str, Any], query: str) -> str | None:
        """The passage of a record's text that is nearest to a query; None where the model reads all of it at once.

        Args:
            row: The record with its `document` and its `embedding`.
        """
        vectors, document = np.atleast_2d(row["embedding"]), row["document"]
        if len(vectors) == 1 or not query.strip():
            return None
        vector = await asyncio.to_thread(self._encode, query)
        span = await asyncio.to_thread(best_passage, self.embedder, document, vectors, vector)
        return document[slice(*span)] if span else None

    async def _reranked(self, hits: list[Hit[str]], query: str) -> Reranked:
        if self.reranker is None:
            return Reranked(hits)
        rows = await self.store.peek([hit.item for hit in hits[:RERANKED]])
        return await rerank(hits, query, {row["id"]: row["document"] for row in rows}, self.reranker)

    async def _diversified(self, hits: list[Hit[str]], k: int, diversity: float) -> list[Hit[str]]:
        if not diversity:
            return hits
        among = hits[: overfetch(k)]
        vectors = await first_vectors([hit.item for hit in among], self.store, self.embedder.dimension)
        return diversified(among, vectors, diversity)

    def _encode(self, query: str) -> Vector:
        encode = getattr(self.embedder, "encode_query", self.embedder.encode)
        vector: Vector = encode(query[:QUERY_CHARACTERS])
        return vector

    async def _known(self, found: Candidates) -> list[Candidate[str]]:
        """What was found with what else the ranking asks for."""
        usage, marks = await self.store.usage(found.ids), await self.store.marks(found.ids)
        return candidates_of(found, usage, {record_id: held.pinned for record_id, held in marks.items()}, self.prior)

    async def _ranked(
        self,
        candidates: list[Candidate[str]],
        weights: RankingWeights,
        *,
        threshold: float = 0.0,
        distinct: bool = False,
    ) -> list[Hit[str]]:
        scale, now = await self._calibration.now(), self.clock.now()
        return rank(candidates, weights, scale, now, threshold=threshold, distinct=distinct)
