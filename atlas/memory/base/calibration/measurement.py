"""A measurement of a collection: the relevance level, its error rates, and the thresholds for showing hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any

import numpy as np

from atlas.core.hits import Hit
from atlas.core.ranking.languages import ENGLISH, language_of
from atlas.core.ranking.level import LevelCosts, estimate_own_relevance, level_between, measure_costs
from atlas.core.ranking.tuned import (
    FOREIGN_SHARE,
    HIGHEST_LEVEL,
    HIGHEST_WORDS_LEVEL,
    MIN_SHARE_OF_BEST,
    MIN_WORD_SHARE,
    SMALL,
    SMALL_LEVEL,
)
from atlas.core.settings import RankingWeights
from atlas.memory.base.scoring import Calibration, Values, relevance, weighted_signals
from atlas.storage.records import NO_MOMENT, Moment

Answers = tuple[tuple[float, float], ...]
"""Similarity and share of words of the best answers to one query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceThresholds:
    """The thresholds of relevance that decide which hits of a search are shown."""

    min_best: float
    """Minimum relevance of the best hit, below which no hit is shown. The signal `context` is not counted here."""

    min_each: float = 0.0
    """Minimum relevance of each shown hit."""

    near_best: float = 0.0
    """Minimum relevance of each shown hit, as a share of the best hit's relevance."""

    shows_word_matches: bool = False
    """True to show every hit whose share of the query's words is at least `MIN_WORD_SHARE`."""

    def shown_predicate(self, best_relevance: float) -> Callable[[Hit[Any]], bool]:
        """Return a predicate that is True for shown hits, given the best hit's relevance without context."""
        minimum = self.min_relevance(best_relevance)
        is_best_relevant = best_relevance >= self.min_best

        def is_shown(hit: Hit[Any]) -> bool:
            if self.shows_word_matches and hit.words >= MIN_WORD_SHARE:
                return True
            return is_best_relevant and hit.relevance >= minimum

        return is_shown

    def min_relevance(self, best_relevance: float) -> float:
        """Return the minimum relevance of shown hits, given the best hit's relevance without context."""
        if best_relevance < self.min_best:
            return self.min_best
        return max(self.min_each, self.near_best * best_relevance)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMeasurement:
    """The hits of one collection for sample queries, which determine its relevance level.

    Foreign queries are about other subjects, so hits for them are wrong. Own queries are first sentences of records.
    """

    scale: Calibration
    n_records: int
    answers: tuple[Answers, ...] = ()
    """The best hits for each foreign query, empty before the queries have been run."""

    languages: tuple[str, ...] = ()
    """The language of each foreign query. Empty if all are in one language."""

    languages_by_words: tuple[str, ...] = ()
    """Languages whose texts the model does not distinguish. Searches in these languages use keywords only."""

    own_answers: tuple[Answers, ...] = ()
    """The best other records for the first sentence of each sampled record."""

    own_languages: tuple[str, ...] = ()
    """The language of each first sentence, or an empty string if it is not recognised."""

    self_answers: Answers = ()
    """For each sampled record: the similarity to its own first sentence, and the share of the sentence's words."""

    model: str = ""
    at: Moment = NO_MOMENT
    is_whole: bool = True
    """False if foreign queries still have to be run."""

    @property
    def is_small(self) -> bool:
        """True if there are too few records to measure a level."""
        return self.n_records < SMALL

    def level(self, weights: RankingWeights, language: str = "") -> float:
        """Return the relevance level for queries in a language. See `atlas.core.ranking.level`.

        Args:
            language: Language of the query. For a language without records in the store, the highest level with the
                same weights is used.
        """
        return self._level_for_language(language, weights, self._levels(weights))

    def _level_for_language(self, language: str, weights: RankingWeights, levels: Mapping[str, float]) -> float:
        """Return the level for a language, given the levels of the measured languages.

        For a language without records in the store, return the highest level of the languages with the same weights.
        """
        if language in levels:
            return levels[language]
        own_weights = self.weights_for_language(weights, language)
        levels_with_same_weights = [
            level for name, level in levels.items() if self.weights_for_language(weights, name) == own_weights
        ]
        return max(levels_with_same_weights, default=SMALL_LEVEL if self.is_small else HIGHEST_LEVEL)

    def language(self, query: str) -> str:
        """Return the language of a query, or an empty string if all records are in one language."""
        return language_of(query) if len(set(self.languages)) > 1 else ""

    def uses_only_words(self, language: str) -> bool:
        """Return whether queries in a language are searched by keywords only.

        A language without records in the store is treated like the other languages, if these are all treated the same.
        """
        known_languages = set(self.languages) or {""}
        if language in known_languages or language in self.languages_by_words:
            return language in self.languages_by_words
        return known_languages <= set(self.languages_by_words)

    def weights_for_language(self, weights: RankingWeights, language: str) -> RankingWeights:
        """Return the weights for queries in a language. If `uses_only_words`, meaning gets the weight 0.

        Weights in which words have no weight are not changed.
        """
        return replace(weights, meaning=0.0) if weights.words and self.uses_only_words(language) else weights

    def _levels(self, weights: RankingWeights) -> dict[str, float]:
        """Return the level for each language of the foreign queries, keyed by language."""
        levels = {}
        for name in set(self._foreign_languages):
            own_weights = self.weights_for_language(weights, name)
            answers = [
                query_answers
                for query_answers, language in zip(self.answers, self._foreign_languages, strict=True)
                if language == name
            ]
            levels[name] = level_between(
                self._best_relevances(answers, own_weights), self._own_relevances(own_weights), name
            )
        return levels

    @property
    def _foreign_languages(self) -> Sequence[str]:
        return self.languages or [ENGLISH] * len(self.answers)

    def costs(self, weights: RankingWeights) -> LevelCosts | None:
        """Return the highest level with the error rates of all levels, or None if no level was measured.

        Each query is judged by the level for the query's own language.
        """
        if not self.answers or not self.own_answers:
            return None
        levels = {name: weights.strictness * level for name, level in self._levels(weights).items()}
        languages = self._foreign_languages
        own_languages = self.own_languages or [""] * len(self.own_answers)
        return measure_costs(
            self._values_per_query(languages, weights, lambda weights: self._best_relevances(self.answers, weights)),
            self._values_per_query(own_languages, weights, self._own_relevances),
            np.array([levels[name] for name in languages]),
            np.array([self._level_for_language(name, weights, levels) for name in own_languages]),
        )

    def _values_per_query(
        self, languages: Sequence[str], weights: RankingWeights, compute: Callable[[RankingWeights], Values]
    ) -> Values:
        """Return the value of each query, computed with the weights for the query's language.

        Args:
            languages: Language of each query.
            compute: Function from weights to the values of all queries.
        """
        is_by_words = [self.uses_only_words(language) for language in languages]
        without_meaning = next((self.weights_for_language(weights, name) for name in self.languages_by_words), weights)
        return np.where(is_by_words, compute(without_meaning), compute(weights))

    def _own_relevances(self, weights: RankingWeights) -> Values:
        """Return the estimated relevance of the best hit for each own query."""
        self_relevances = self._best_relevances([(answer,) for answer in self.self_answers], weights)
        return estimate_own_relevance(self_relevances, self._best_relevances(self.own_answers, weights))

    def _best_relevances(self, answers: Sequence[Answers], weights: RankingWeights) -> Values:
        """Return the relevance of the best hit for each query, or 0 for a query without hits."""

        def relevance_of(similarity: float, words: float) -> float:
            return relevance(sum(weighted_signals(self.scale.rescale(similarity), words, weights)), weights)

        best_relevances = [max(starmap(relevance_of, query_answers), default=0.0) for query_answers in answers]
        return np.array(best_relevances, np.float64)

    @property
    def words_level(self) -> float:
        """Smallest share of a query's words that counts as a match in a keyword search.

        For 97% of the queries that are unrelated to the store, no record contains a larger share.
        """
        if not self.answers:
            return MIN_WORD_SHARE
        best_shares = [max((words for _, words in query_answers), default=0.0) for query_answers in self.answers]
        return float(np.clip(np.quantile(best_shares, FOREIGN_SHARE), MIN_WORD_SHARE, HIGHEST_WORDS_LEVEL))

    def thresholds(self, weights: RankingWeights, language: str = "") -> RelevanceThresholds:
        """Return the default thresholds that decide which hits a search shows."""
        strictness = weights.strictness
        return RelevanceThresholds(
            min_best=min(1.0, strictness * self.level(weights, language)),
            near_best=min(1.0, strictness * MIN_SHARE_OF_BEST),
            shows_word_matches=self.is_small and not self.answers,
        )
