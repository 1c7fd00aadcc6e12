"""Hybrid retrieval from one collection: candidates by vectors and by keywords, ranked together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from atlas.core.hits import Candidates, Hit, check_limit, hit_without_signals
from atlas.core.json_values import check_text
from atlas.core.operations import Usage
from atlas.core.ranking.level import LevelCosts
from atlas.core.ranking.tuned import MAX_CANDIDATES, N_COMPARED, N_RERANKED, SAME_DOMAIN
from atlas.core.settings import RankingWeights
from atlas.core.types import Vector, Vectors
from atlas.embedding.chunking import best_passage
from atlas.memory.base.calibration.live import LiveCalibration
from atlas.memory.base.calibration.measurement import RelevanceThresholds
from atlas.memory.base.ranking import (
    TOLERANCE,
    check_diversity,
    check_threshold,
    diversify,
    most_relevant,
    n_candidates,
    rank,
)
from atlas.memory.base.records import first_vectors
from atlas.memory.base.rerank import RerankedHits, rerank
from atlas.memory.base.scoring import Calibration, Candidate, build_candidates, relevance, seeks_failures
from atlas.protocols.infra import Clock, Where, WholeEmbedder
from atlas.protocols.strategies import Reranker
from atlas.storage.collection import Collection
from atlas.storage.records import Context

QUERY_CHARACTERS = 50_000
"""Length to which a query is truncated before it is embedded, because a megabyte would take seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The arguments of a search of a collection. See `Memory.retrieve`."""

    query: str
    k: int
    where: Where | None = None
    threshold: float | None = None
    distinct: bool = False
    diversity: float = 0.0
    with_buried: bool = False
    domain: str = ""
    """The domain whose records are preferred, or empty for none."""

    notes: tuple[str, ...] = ()
    """Sentences about names in the filter that no record has as a key."""

    vector: Vector | None = None
    """Vector of the query. None before `Retriever.prepare`, and if the memory or the query is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRecords:
    """The hits of a search that reach its threshold, best first."""

    hits: list[Hit[str]]
    n_hidden: int
    """Number of the k best records that are below the threshold."""

    threshold: float
    """Relevance threshold that was applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRules:
    """The weights and the scale that a search scores candidates by, and the thresholds that it selects hits by."""

    weights: RankingWeights
    scale: Calibration
    thresholds: RelevanceThresholds
    prefers_success: bool = True
    """False if failures answer the query as well as successes."""


@dataclass(slots=True)
class Retriever:
    """The search of one collection. It finds and ranks the ids of hits, and the caller reads the records."""

    store: Collection
    embedder: WholeEmbedder
    weights: Callable[[], RankingWeights]
    """Called for each search, because another process may change the weights."""

    clock: Clock
    reranker: Reranker | None = None
    """Reranker of the first hits, or None, which is usual."""

    compares_tokens: bool = True
    """False to skip the comparison of tokens, even if the store has their vectors."""

    prior: Callable[[Usage], float] | None = None
    """Estimate of success for records without an outcome of their own. See `build_candidates`."""

    context: Context | None = None
    """Log in which the words of later records count for earlier records, or None if records are independent."""

    _calibration: LiveCalibration = field(init=False)
    _was_filled: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._calibration = LiveCalibration(self.store, self.embedder)

    def with_changes(self, **changes: Any) -> Retriever:
        """Return a copy with some fields replaced, which shares the calibration."""
        retriever = replace(self, **changes)
        retriever._calibration = self._calibration
        return retriever

    def prepare(self, search: Search) -> Search:
        """Return a search after checking it, with the vector of its query unless the memory is empty."""
        check_limit(search.k)
        check_diversity(search.diversity)
        check_text(search.query, "the query")
        if search.threshold is not None:
            check_threshold(search.threshold)
        if not search.query.strip() or not self._is_filled():
            return replace(search, vector=None)  # the result is empty
        if search.threshold is None:
            self._calibration.prepare()
        else:
            self._calibration.load_scale()
        return search if search.vector is not None else replace(search, vector=self.encode(search.query))

    def find(self, search: Search, n_withheld: int = 0) -> RankedRecords:
        """Return the ranked hits above the threshold. Call it inside a read transaction.

        Args:
            n_withheld: Number of records that the caller removes from the hits afterwards.
        """
        rules = self._scoring_rules(search.threshold, search.query)
        if self.prior is None and seeks_failures(search.query):
            weights = replace(rules.weights, success=0.0)
            rules = replace(rules, weights=weights, prefers_success=False)
        if search.vector is None:
            return RankedRecords(hits=[], n_hidden=0, threshold=rules.thresholds.min_relevance(0.0))
        k = search.k + n_withheld
        candidates = self._find_candidates(search, k, rules, n_withheld)
        ranked_hits = self._rank(candidates, rules, domain=search.domain)
        best_relevance = _best_relevance(ranked_hits, rules.weights)
        is_shown = rules.thresholds.shown_predicate(best_relevance)
        hits = list(filter(is_shown, ranked_hits))
        if search.distinct:  # hidden hits are not duplicates of shown ones
            hits = self._rank(candidates, rules, is_kept=is_shown, distinct=True, domain=search.domain)
            ranked_hits = self._rank(candidates, rules, distinct=True, domain=search.domain)
        n_hidden = sum(not is_shown(hit) for hit in ranked_hits[:k])
        return RankedRecords(hits=hits, n_hidden=n_hidden, threshold=rules.thresholds.min_relevance(best_relevance))

    def find_words(
        self, query: str, k: int, where: Where | None, threshold: float | None, domain: str = ""
    ) -> RankedRecords:
        """Return the ids of the records with the largest shares of a query's words, without embedding the query.

        Args:
            query: Keywords, of any length.
            k: Maximum number of records.
            where: A filter.
            threshold: Minimum IDF-weighted share of the query's words, in [0, 1], or None for the store's own.
            domain: The domain whose records are preferred, or empty for none.
        """
        result = self.store.candidates(None, query, n_candidates(k) if domain else k, where, with_buried=False)
        candidates = build_candidates(result, {}, {})
        shares = {candidate.item: candidate.words for candidate in candidates}
        preferred_ids = {candidate.item for candidate in candidates if domain and candidate.domain == domain}
        ordered_ids = sorted(shares, key=lambda item: -shares[item] - SAME_DOMAIN * (item in preferred_ids))
        thresholds = (
            self._calibration.thresholds_for_words(self.weights())
            if threshold is None
            else RelevanceThresholds(min_best=threshold)
        )
        minimum = max(thresholds.min_relevance(max(shares.values(), default=0.0)), threshold or 0.0)
        shown_ids = [record_id for record_id in ordered_ids if shares[record_id] >= minimum]
        n_hidden = sum(shares[record_id] < minimum for record_id in ordered_ids[:k])
        return RankedRecords(hits=[*map(hit_without_signals, shown_ids[:k])], n_hidden=n_hidden, threshold=minimum)

    def calibrate(self) -> None:
        """Measure the relevance level of the store, and save it in the store."""
        self._calibration.measure_and_save()

    def level(self) -> float:
        """Return the relevance level, below which a best hit is not shown. Measure the store if necessary."""
        self._calibration.prepare()
        return self._scoring_rules(threshold=None).thresholds.min_best

    def level_costs(self, strictness: float | None = None) -> LevelCosts | None:
        """Return the level with its error rates, or None if it was not measured yet."""
        return self._calibration.costs(self.weights(), strictness)

    def shown_hits(self, query: str, hits: Sequence[Hit[str]], strictness: float) -> list[Hit[str]]:
        """Return the hits of a search that are shown at this strictness."""
        measurement, weights = self._calibration.measurement(), self.weights()
        language = measurement.language(query)
        thresholds = self._calibration.thresholds(measurement, weights, language, strictness)
        best_relevance = _best_relevance(hits, measurement.weights_for_language(weights, language))
        return list(filter(thresholds.shown_predicate(best_relevance), hits))

    def n_to_read(self, search: Search) -> int:
        """Return the number of first hits whose texts and vectors `order_hits` needs."""
        n_reranked = N_RERANKED if self.reranker is not None else 0
        return max(search.k, n_reranked, n_candidates(search.k) if search.diversity else 0)

    def vectors(self, hits: Sequence[Hit[str]], search: Search) -> Vectors:
        """Return the vectors of the first hits for `order_hits`, in order. Empty if no diversity is requested."""
        if not search.diversity:
            return np.zeros((0, 0), np.float32)
        return first_vectors([hit.item for hit in hits[: n_candidates(search.k)]], self.store, self.embedder.dimension)

    def order_hits(
        self, hits: list[Hit[str]], search: Search, documents: Mapping[str, str], vectors: Vectors
    ) -> RerankedHits:
        """Return the k hits of a search, in their final order, without reading the store.

        Args:
            hits: Best first.
            documents: The texts of the first `n_to_read` hits, keyed by id.
            vectors: Result of `vectors` for the hits.
        """
        reranked = RerankedHits(hits)
        if self.reranker is not None:
            reranked = rerank(hits, search.query, documents, self.reranker)
        ordered_hits = reranked.hits
        if search.diversity:
            row_by_id = {hit.item: row for row, hit in enumerate(hits[: len(vectors)])}
            ordered_hits = [hit for hit in ordered_hits if hit.item in row_by_id]
            rows = [row_by_id[hit.item] for hit in ordered_hits]
            ordered_hits = diversify(ordered_hits, vectors[rows], search.diversity)
        return RerankedHits(ordered_hits[: search.k], reranked.problems)

    def find_neighbours(
        self, vector: Vector, k: int, *, where: Where | None = None, with_buried: bool = False
    ) -> list[Hit[str]]:
        """Return hits for the k records nearest to a vector, nearest first."""
        result = self.store.candidates(vector, None, n_candidates(k), where, with_buried=with_buried)
        rules = self._scoring_rules(threshold=0.0)
        meaning_only = replace(rules, weights=replace(self.weights(), words=0.0))
        return self._rank(self._build_candidates(result), meaning_only)[:k]

    def passage(self, row: Mapping[str, Any], query: str) -> str | None:
        """Return the passage of a record's text nearest to a query, or None if the text was embedded as a whole.

        Args:
            row: The record with its `document` and its `embedding`.
        """
        vectors, document = np.atleast_2d(row["embedding"]), row["document"]
        if len(vectors) == 1 or not query.strip():
            return None
        vector = self.encode(query)
        span = best_passage(self.embedder, document, vectors, vector)
        return document[slice(*span)] if span else None

    def encode(self, query: str) -> Vector:
        """Return the vector of a query."""
        encode_query = getattr(self.embedder, "encode_query", self.embedder.encode)
        vector: Vector = encode_query(query[:QUERY_CHARACTERS])
        return vector

    def _is_filled(self) -> bool:
        """Return whether the collection has or had records. The answer True is cached."""
        self._was_filled = self._was_filled or not self.store.is_empty()
        return self._was_filled

    def _scoring_rules(self, threshold: float | None, query: str = "") -> ScoringRules:
        """Return the weights, the store's scale, and the relevance thresholds of a search.

        Args:
            threshold: Threshold of the search, or None for the store's own level.
            query: Text whose language selects the level.
        """
        weights, measurement = self.weights(), self._calibration.measurement()
        language = measurement.language(query)
        thresholds = RelevanceThresholds(min_best=0.0, min_each=threshold or 0.0)
        if threshold is None:
            thresholds = self._calibration.thresholds(measurement, weights, language)
        return ScoringRules(
            weights=measurement.weights_for_language(weights, language), scale=measurement.scale, thresholds=thresholds
        )

    def _find_candidates(self, search: Search, k: int, rules: ScoringRules, n_withheld: int) -> list[Candidate[str]]:
        """Return enough candidates for the k best hits of a search.

        With `distinct`, several attempts at a task become one hit, so candidates are fetched until there are k hits.
        """
        n_fetched, select_returned = n_candidates(k), None
        weights, scale, thresholds = rules.weights, rules.scale, rules.thresholds
        # With grouped attempts, few records, or context from nearby entries, candidates far below the best can be hits.
        keeps_all = search.distinct or thresholds.shows_word_matches or self.context
        if not keeps_all:
            # No record can be moved up past another by more than the sum of all nudges.
            slack = weights.nudges + (SAME_DOMAIN if search.domain else 0.0) + TOLERANCE
            select_returned = most_relevant(self.n_to_read(search) + n_withheld, weights, scale, slack=slack)
        select_compared = None
        if self.store.has_token_vectors and self.compares_tokens:
            select_compared = most_relevant(N_COMPARED, weights, scale)
        while True:
            result = self.store.candidates(
                search.vector,
                search.query,
                n_fetched,
                search.where,
                with_buried=search.with_buried,
                context=self.context,
                returned=select_returned,
                compared=select_compared,
            )
            candidates = self._build_candidates(result)
            if not search.distinct or len(candidates) < n_fetched or n_fetched >= MAX_CANDIDATES:
                return candidates
            ranked_hits = self._rank(candidates, rules, distinct=True, domain=search.domain)
            is_shown = thresholds.shown_predicate(_best_relevance(ranked_hits, weights))
            n_shown = sum(is_shown(hit) for hit in ranked_hits)
            if n_shown >= k or not n_shown:  # further candidates are less relevant
                return candidates
            n_fetched *= 4  # duplicates filled the list, so fetch more candidates

    def _build_candidates(self, result: Candidates) -> list[Candidate[str]]:
        """Return the store's search results as candidates, with the usage and marks that the ranking needs."""
        return build_candidates(result, self.store.usage(result.ids), self.store.marks(result.ids), self.prior)

    def _rank(
        self,
        candidates: list[Candidate[str]],
        rules: ScoringRules,
        *,
        is_kept: Callable[[Hit[str]], bool] | None = None,
        distinct: bool = False,
        domain: str = "",
    ) -> list[Hit[str]]:
        return rank(
            candidates,
            rules.weights,
            rules.scale,
            self.clock.now(),
            is_kept=is_kept,
            distinct=distinct,
            prefers_success=rules.prefers_success,
            domain=domain,
        )


def _best_relevance(hits: Sequence[Hit[str]], weights: RankingWeights) -> float:
    """Return the highest relevance among hits, computed without the signals for context."""
    sums = (hit.signals.get("meaning", 0.0) + hit.signals.get("words", 0.0) for hit in hits)
    return relevance(max(sums, default=0.0), weights)
