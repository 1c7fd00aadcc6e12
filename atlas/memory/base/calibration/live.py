"""The calibration of one collection: a measurement that is made or loaded on first use, and renewed after growth."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import AtlasError
from atlas.core.ranking.languages import ENGLISH, detect_languages, language_of
from atlas.core.ranking.level import LevelCosts
from atlas.core.ranking.tuned import (
    MAX_NEARNESS,
    MAX_QUERY_CHARACTERS,
    MIN_SHARE_OF_BEST,
    MIN_WORD_SHARE,
    N_ANSWERS,
    N_FOREIGN_CANDIDATES,
    N_OWN_QUERIES,
    N_SAMPLED,
    SMALL,
)
from atlas.core.settings import RankingWeights
from atlas.core.types import Vector, Vectors
from atlas.embedding.foreign_queries import load_calibration_queries
from atlas.embedding.plain import REMEMBERED_QUERIES
from atlas.embedding.prompts import NO_PROMPTS, prompts_of
from atlas.infra.actor import acting_on_all_records
from atlas.infra.duck_typing import get_member
from atlas.infra.locks import SharedLock, lock_of
from atlas.memory.base.calibration.encoding import decode_measurement, encode_measurement
from atlas.memory.base.calibration.measurement import Answers, LevelMeasurement, RelevanceThresholds
from atlas.memory.base.calibration.scale import MODEL_SCALES, calibrate, median_cosine, model_scale
from atlas.memory.base.scoring import Calibration, Values
from atlas.protocols.infra import WholeEmbedder
from atlas.storage.collection import Collection
from atlas.storage.records import NO_MOMENT, Moment

logger = logging.getLogger(__name__)

GROWTH = 1.2
"""Factor by which the number of records has to grow or shrink before a collection is measured again."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n")


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, truncated to the length of a usual query."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0][:MAX_QUERY_CHARACTERS]


@dataclass(slots=True)
class LiveCalibration:
    """The similarity scale and relevance level of one collection, measured on first use and after growth."""

    store: Collection
    embedder: WholeEmbedder
    _model_scale: Calibration | None = None
    """The typical cosines of the model, or None before `load_scale`."""

    _latest_measurement: LevelMeasurement | None = None
    _counted_at: Moment = NO_MOMENT
    """Moment at which the records were last counted."""

    _is_outgrown: bool = False
    _latest_thresholds: dict[str, tuple[LevelMeasurement, RankingWeights, RelevanceThresholds]] = field(
        default_factory=dict
    )
    """The measurement, the weights and the thresholds computed from both, keyed by language."""

    _measuring_thread: threading.Thread | None = None
    _lock: SharedLock = field(init=False)

    def __post_init__(self) -> None:
        self._lock = lock_of(self)

    def load_scale(self) -> None:
        """Load the model's typical cosines. Call it outside of read transactions.

        Unknown cosines are measured once, if the embedder has a method for it.
        """
        if self._model_scale is None:
            self._model_scale = model_scale(self.embedder)

    def prepare(self) -> None:
        """Load the stored measurement or make one. Call it outside of read transactions, because it may run models.

        A store that has grown is measured again in the background.
        """
        self.load_scale()
        if self._is_unusable():
            with self._lock:
                if self._is_unusable():  # checked again, because another thread may have measured it
                    self._set_measurement(self._read_stored_measurement() or self._measure_and_save_later())
        elif self._is_outgrown and not self._is_measuring():
            self._measuring_thread = threading.Thread(target=self._measure_again, name="atlas-calibration", daemon=True)
            self._measuring_thread.start()

    def measure_and_save(self) -> None:
        """Load the stored measurement, or measure the store and save the result if there is none that fits."""
        self.load_scale()
        with self._lock:
            measurement = self._read_stored_measurement()
            self._set_measurement(measurement or self._measure())
        if measurement is None:
            self._save(self.measurement())

    def measurement(self) -> LevelMeasurement:
        """Return the latest measurement.

        If there is none, or if a small store has grown, a partial measurement is made here, without running a model.
        """
        if self._latest_measurement is not None and not self._is_outgrown and not self._is_measuring():
            self._is_outgrown = self._has_outgrown(self._latest_measurement)
        if self._latest_measurement is None or (self._is_outgrown and self._latest_measurement.is_small):
            self._set_measurement(self._read_stored_measurement() or self._measure(runs_queries=False))
        assert self._latest_measurement is not None
        return self._latest_measurement

    def costs(self, weights: RankingWeights, strictness: float | None = None) -> LevelCosts | None:
        """Return the level with its error rates, or None before the first measurement.

        Args:
            strictness: Strictness of the search, or None for the store's.
        """
        measurement = self._latest_measurement or self._read_stored_measurement()
        return measurement.costs(self._apply_strictness(weights, strictness)) if measurement else None

    def thresholds(
        self, measurement: LevelMeasurement, weights: RankingWeights, language: str, strictness: float | None = None
    ) -> RelevanceThresholds:
        """Return the default thresholds that decide which hits a search shows. The latest ones are cached.

        Args:
            language: Language of the query, from `LevelMeasurement.language`.
            strictness: Strictness of the search, or None for the store's.
        """
        weights = self._apply_strictness(weights, strictness)
        cached = self._latest_thresholds.get(language)
        if cached is not None:
            cached_measurement, cached_weights, thresholds = cached
            if cached_measurement is measurement and cached_weights == weights:
                return thresholds
        thresholds = measurement.thresholds(weights, language)
        self._latest_thresholds[language] = measurement, weights, thresholds
        return thresholds

    def thresholds_for_words(self, weights: RankingWeights) -> RelevanceThresholds:
        """Return the default thresholds that decide which hits a keyword search shows.

        No model is run. Without a stored measurement, the level is `MIN_WORD_SHARE`.
        """
        if self._latest_measurement is None and (measurement := self._read_stored_measurement()):
            self._set_measurement(measurement)
        weights = self._apply_strictness(weights)
        level = self._latest_measurement.words_level if self._latest_measurement is not None else MIN_WORD_SHARE
        return RelevanceThresholds(
            min_best=min(1.0, weights.strictness * level), near_best=min(1.0, weights.strictness * MIN_SHARE_OF_BEST)
        )

    def _apply_strictness(self, weights: RankingWeights, strictness: float | None = None) -> RankingWeights:
        """Return the weights with their strictness multiplied by `strictness`, or by the store's if that is None."""
        factor = self.store.strictness() if strictness is None else strictness
        return weights if factor == 1.0 else replace(weights, strictness=weights.strictness * factor)

    def _set_measurement(self, measurement: LevelMeasurement) -> None:
        self._latest_measurement = measurement
        self._counted_at = measurement.at
        self._is_outgrown = False

    def _is_unusable(self) -> bool:
        """Return whether there is no measurement, only a partial one, or one of a small store that has grown since."""
        measurement = self._latest_measurement
        if measurement is None or not measurement.is_whole:
            return True
        return self._is_outgrown and measurement.is_small

    def _is_measuring(self) -> bool:
        return self._measuring_thread is not None and self._measuring_thread.is_alive()

    def _has_outgrown(self, measurement: LevelMeasurement) -> bool:
        """Return whether the number of records differs much from the number that was measured.

        Records are counted only after enough changes to make such a difference possible.
        """
        moment = self.store.moment()
        if moment.ledger_id != measurement.at.ledger_id or moment.change < measurement.at.change:
            return True
        if moment.change - self._counted_at.change < (GROWTH - 1) * measurement.n_records:
            return False
        self._counted_at = moment
        with acting_on_all_records():
            return not _is_similar_count(self.store.n_upper_bound(), measurement.n_records)

    def _measure_again(self) -> None:
        """Measure the store in a thread, and use and save the new measurement."""
        try:
            measurement = self._measure()
            self._set_measurement(measurement)
            self._save(measurement)
        except AtlasError as error:  # the store was closed, or is damaged, which the next search reports
            logger.debug("the store could not be measured: %s", error)
            self._is_outgrown = False

    @acting_on_all_records()
    def _read_stored_measurement(self) -> LevelMeasurement | None:
        """Return the stored measurement, or None if it does not fit the store.

        It fits if it was made with the same model, in the same ledger, and at a similar number of records.
        """
        try:
            measurement = decode_measurement(self.store.read_measurement())
        except (ValueError, TypeError, KeyError, ArithmeticError):
            return None
        if measurement is None or measurement.model != self._similarity_source():
            return None
        moment = self.store.moment()
        is_of_this_ledger = moment.ledger_id == measurement.at.ledger_id and measurement.at.change <= moment.change
        if not is_of_this_ledger:
            return None
        return measurement if _is_similar_count(self.store.n_upper_bound(), measurement.n_records) else None

    @acting_on_all_records()
    def _measure(self, *, runs_queries: bool = True) -> LevelMeasurement:
        """Return a new measurement of the store.

        Args:
            runs_queries: Whether to run sample queries. False makes a partial measurement, without running a model.
        """
        moment = self.store.moment()
        unrelated, neighbours = self.store.similarities(N_SAMPLED)
        n_records = self.store.n_upper_bound()
        texts = self.store.sample_texts(N_OWN_QUERIES)
        languages = detect_languages(list(texts.values()))
        has_level = len(neighbours) > 0 and (n_records >= SMALL or languages != (ENGLISH,))
        answers = self._measure_answers(texts, languages) if runs_queries and has_level else {}
        return LevelMeasurement(
            scale=calibrate(unrelated, neighbours, self._model_scale_or_default()),
            n_records=n_records,
            model=self._similarity_source(),
            at=moment,
            is_whole=runs_queries or not has_level,
            **answers,
        )

    def _similarity_source(self) -> str:
        """Return a key for all that similarities depend on: model, prompts, and whether word pieces are compared."""
        prompts = prompts_of(self.embedder) or NO_PROMPTS
        model = self.embedder.model_name if prompts == NO_PROMPTS else f"{self.embedder.model_name} {prompts.as_text()}"
        return f"{model} with word pieces" if self.store.has_token_vectors else model

    def _measure_and_save_later(self) -> LevelMeasurement:
        """Return a new measurement. It is saved in the background, so that the search waits for no write lock."""
        measurement = self._measure()
        threading.Thread(target=self._save, args=(measurement,), name="atlas-calibration", daemon=True).start()
        return measurement

    def _save(self, measurement: LevelMeasurement) -> None:
        if not measurement.answers:
            return  # measuring it again takes no time
        try:
            self.store.write_measurement(encode_measurement(measurement))
        except AtlasError as error:
            logger.debug("the measurement could not be saved: %s", error)

    def _measure_answers(self, texts: Mapping[str, str], languages: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Run sample queries, and return the fields of `LevelMeasurement` that contain the best hits.

        Return an empty dictionary if the queries cannot be embedded.

        Args:
            texts: Texts of a sample of records, keyed by id.
            languages: Languages of the texts in the store.
        """
        foreign = load_calibration_queries(languages)
        query_languages = tuple(language for language, queries in foreign.items() for _ in queries)
        queries = [query for queries_of_language in foreign.values() for query in queries_of_language]
        own_queries = list(map(first_sentence, texts.values()))
        queries += own_queries
        answers_by_query: list[dict[str, tuple[float, float]]] = []
        vectors_of_queries: list[Vector] = []
        for start in range(0, len(queries), REMEMBERED_QUERIES):
            batch = queries[start : start + REMEMBERED_QUERIES]
            try:
                vectors = self._query_vectors(batch)
            except Exception as error:  # noqa: BLE001 - a third-party embedder may not support batches
                logger.warning("the usual level is used, because the foreign queries could not be embedded: %r", error)
                return {}
            vectors_of_queries.extend(vectors)
            answers_by_query += map(self._answers_by_id, batch, vectors)
        own_answers = answers_by_query[len(query_languages) :]
        self_answers = tuple(
            answers.pop(record_id, (0.0, 0.0)) for record_id, answers in zip(texts, own_answers, strict=True)
        )
        best_answers = tuple(map(_best_answers, answers_by_query))
        return {
            "answers": best_answers[: len(query_languages)],
            "languages": query_languages,
            "languages_by_words": self._languages_by_words(query_languages, vectors_of_queries),
            "own_answers": best_answers[len(query_languages) :],
            "own_languages": tuple(map(language_of, own_queries)),
            "self_answers": self_answers,
        }

    def _languages_by_words(self, languages: Sequence[str], vectors: Sequence[Vector]) -> tuple[str, ...]:
        """Return the languages except English whose unrelated texts have similar vectors, so that only words count.

        Args:
            languages: The language of each foreign query.
            vectors: The vectors of the foreign queries, followed by others.
        """
        scale, by_language = self._model_scale_or_default(), dict[str, list[Vector]]()
        for language, vector in zip(languages, vectors, strict=False):
            by_language.setdefault(language, []).append(vector)
        by_language.pop(ENGLISH, None)
        cosines = {language: median_cosine(own_vectors) for language, own_vectors in by_language.items()}
        return tuple(language for language, cosine in cosines.items() if scale.rescale(cosine) > MAX_NEARNESS)

    def _model_scale_or_default(self) -> Calibration:
        return self._model_scale or MODEL_SCALES.get(self.embedder.model_name, Calibration())

    def _query_vectors(self, texts: list[str]) -> Sequence[Vector] | Vectors:
        """Return the vectors of queries, shape (n, dim).

        With late interaction, the embedder caches the token vectors of the same model run, which the search needs next.
        """
        encode_query = get_member(self.embedder, "encode_query")
        if self.store.has_token_vectors and encode_query:
            if cache_queries := get_member(self.embedder, "remember_queries"):
                cache_queries(texts)
            return [encode_query(text) for text in texts]
        encode_batch = get_member(self.embedder, "encode_queries") or self.embedder.encode_batch
        vectors: Vectors = encode_batch(texts)
        return vectors

    def _answers_by_id(self, text: str, vector: Vector) -> dict[str, tuple[float, float]]:
        """Return similarity and share of the query's words for each record near a query, keyed by the record's id."""
        candidates = self.store.candidates(
            vector, text, N_FOREIGN_CANDIDATES, compared=select_all if self.store.has_token_vectors else None
        )
        information = candidates.word_information or 1.0
        rows = zip(candidates.ids, candidates.similarities, candidates.words, strict=True)
        return {record_id: (similarity, words / information) for record_id, similarity, words in rows}


def _best_answers(answers: Mapping[str, tuple[float, float]]) -> Answers:
    """Return the best answers by similarity and the best by words. The weights decide later which one is best."""
    by_meaning = sorted(answers.values(), key=lambda answer: -answer[0])[:N_ANSWERS]
    by_words = sorted(answers.values(), key=lambda answer: -answer[1])[:N_ANSWERS]
    return tuple(dict.fromkeys([*by_meaning, *by_words]))


def select_all(similarities: Values, words: Values) -> npt.NDArray[np.bool_]:
    """Return True for each candidate. This is the selector that selects all candidates."""
    return np.ones(len(similarities), bool)


def _is_similar_count(n_records: int, n_measured: int) -> bool:
    """Return whether a number of records is close to the number that was measured."""
    return (n_records < SMALL) == (n_measured < SMALL) and n_measured / GROWTH <= n_records <= n_measured * GROWTH
