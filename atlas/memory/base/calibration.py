"""The scale of a store: which similarity is near, and from which relevance on a search has found something.

Both differ from store to store by more than they differ within one. So they are measured on the store itself: how near
its records are to each other, and how relevant the best answer is to questions about other subjects.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import AtlasError
from atlas.core.hits import Hit
from atlas.core.ranking.languages import ENGLISH, language_of, languages_of
from atlas.core.ranking.level import LevelCosts, costs_of, level_between, own_relevance
from atlas.core.ranking.tuned import (
    ABOVE_USUAL,
    ANSWERS,
    BELOW_USUAL,
    FOREIGN_SHARE,
    HIGHEST_LEVEL,
    HIGHEST_WORDS_LEVEL,
    LOOKED_AT,
    MAX_ASKED,
    MIN_SPAN,
    NEAR_BEST,
    OWN,
    SAMPLED,
    SHRINKAGE,
    SMALL,
    SMALL_LEVEL,
    TELLING,
)
from atlas.core.settings import RankingWeights
from atlas.core.types import Vector, Vectors
from atlas.embedding.foreign_queries import calibration_queries_in
from atlas.embedding.plain import REMEMBERED_QUERIES
from atlas.embedding.prompts import NO_PROMPTS, prompts_of
from atlas.infra.duck_typing import get_offered
from atlas.infra.locks import SharedLock, lock_of
from atlas.memory.base.scoring import Calibration, Values, relevance, weighed
from atlas.protocols.infra import WholeEmbedder
from atlas.storage.collection import Collection
from atlas.storage.records import NO_MOMENT, Moment

logger = logging.getLogger(__name__)

GROWTH = 1.2
"""How many times as many records a collection has before it is measured again, or how many times fewer."""

VERSION = 4
"""Of what is kept. Raise it when words or meaning are scored otherwise, or other foreign queries are asked."""

Answers = tuple[tuple[float, float], ...]
"""Similarity and share of words of the best answers to one query."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n")

USUAL = {
    "all-MiniLM-L6-v2": Calibration(unrelated=0.08, near=0.65),
    "BAAI/bge-small-en-v1.5": Calibration(unrelated=0.5, near=0.85),
    "BAAI/bge-base-en-v1.5": Calibration(unrelated=0.45, near=0.82),
    "BAAI/bge-large-en-v1.5": Calibration(unrelated=0.5, near=0.85),
}
"""Similarities that are usual with a model, before a store has records of its own. Those of bge are rough."""


def usual_scale(embedder: WholeEmbedder) -> Calibration:
    """Return the similarities that are usual with a model: from the table, else as it measures them on foreign texts.

    An embedder without a method `measured_scale` is taken to be like the default of `Calibration`.
    """
    measure = get_offered(embedder, "measured_scale")
    if embedder.model_name in USUAL or measure is None:
        return USUAL.get(embedder.model_name, Calibration())
    measured = measure()
    return Calibration(unrelated=measured.unrelated, near=max(measured.near, measured.unrelated + MIN_SPAN))


def calibrate(unrelated: npt.NDArray[np.float32], near: npt.NDArray[np.float32], usual: Calibration) -> Calibration:
    """Return the scale of a store.

    Args:
        unrelated: Cosines of pairs of its records, picked at random.
        near: The cosine of each of some records with the nearest other one.
        usual: The model's usual level, which decides while there are few records. As a store of one subject has no
            unrelated pairs, and one of few has no neighbours, it also bounds what counts as either.
    """
    low = min(_shrunk(unrelated, usual.unrelated), usual.unrelated + ABOVE_USUAL)
    high = max(_shrunk(near, usual.near), usual.near - BELOW_USUAL)
    return Calibration(unrelated=low, near=max(high, low + MIN_SPAN))


def _shrunk(values: npt.NDArray[np.float32], usual: float) -> float:
    typical = float(np.median(values)) if len(values) else usual
    return (typical * len(values) + usual * SHRINKAGE) / (len(values) + SHRINKAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Thresholds of relevance that decide which hits are shown."""

    best: float
    """Relevance that the best hit needs by itself for any to be shown, without what comes just after it: that counts
    for several hits, but the query is no more at home here for it."""

    each: float = 0.0
    """Relevance that each hit needs."""

    near_best: float = 0.0
    """Share of the best hit's relevance that each hit needs."""

    spares_words: bool = False
    """True if hits with a good part of the query's rare words are always shown."""

    def shown_beside(self, best: float) -> Callable[[Hit[Any]], bool]:
        """Return a predicate for the hits that are shown, given the relevance of the best hit by itself."""
        least, is_home = self.least(best), best >= self.best
        return lambda hit: (is_home and hit.relevance >= least) or (self.spares_words and hit.words >= TELLING)

    def least(self, best: float) -> float:
        """Return the relevance that hits need, beside a best one of `best`."""
        return self.best if best < self.best else max(self.each, self.near_best * best)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMeasurement:
    """A measurement of one collection."""

    scale: Calibration
    n_records: int
    answers: tuple[Answers, ...] = ()
    """The best answers to each foreign query. Empty before they are asked."""

    languages: tuple[str, ...] = ()
    """The language of each foreign query. Empty if all are in one."""

    own_answers: tuple[Answers, ...] = ()
    """The best answers to the first sentence of some records, without the record itself."""

    itself: Answers = ()
    """Similarity of each of these records to its first sentence, and share of its words."""

    model: str = ""
    at: Moment = NO_MOMENT
    is_whole: bool = True
    """False if foreign queries are still to be asked."""

    @property
    def is_small(self) -> bool:
        """True if there are too few records to measure a level by."""
        return self.n_records < SMALL

    def level(self, weights: RankingWeights, language: str = "") -> float:
        """Return the relevance that the best hit of a query should have, where hiding a right one costs `PRICE`.

        Args:
            language: Language of the query. For one that the store does not hold, the highest level counts.
        """
        levels = self._levels(weights)
        return levels.get(language) or max(levels.values(), default=SMALL_LEVEL if self.is_small else HIGHEST_LEVEL)

    def _levels(self, weights: RankingWeights) -> dict[str, float]:
        """Return the level for queries in each language that foreign ones were asked in."""
        foreign, own_values = self._best(self.answers, weights), self._own(weights)
        languages = np.array(self.languages or [ENGLISH] * len(foreign))
        return {name: level_between(foreign[languages == name], own_values, name) for name in set(languages.tolist())}

    def costs(self, weights: RankingWeights) -> LevelCosts | None:
        """Return the costs of the highest level on each side, or None if no level was measured."""
        if not self.answers or not self.own_answers:
            return None
        level = weights.strictness * max(self._levels(weights).values())
        return costs_of(self._best(self.answers, weights), self._own(weights), level)

    def _own(self, weights: RankingWeights) -> Values:
        """Return the relevances that the store's own queries reach."""
        itself = self._best([(answer,) for answer in self.itself], weights)
        return own_relevance(itself, self._best(self.own_answers, weights))

    def _best(self, answers: Sequence[Answers], weights: RankingWeights) -> Values:
        """Return the relevance of the best answer to each of some queries."""
        best = [
            max(
                (relevance(*weighed(self.scale.meaning(near), words, weights), weights) for near, words in found),
                default=0.0,
            )
            for found in answers
        ]
        return np.array(best, np.float64)

    @property
    def words_level(self) -> float:
        """Share of a query's words that 97 of 100 foreign queries do not find in one record, within bounds."""
        if not self.answers:
            return TELLING
        best = [max((words for _, words in found), default=0.0) for found in self.answers]
        return float(np.clip(np.quantile(best, FOREIGN_SHARE), TELLING, HIGHEST_WORDS_LEVEL))

    def cut(self, weights: RankingWeights, language: str = "") -> Cut:
        """Return which hits are shown where a search names no threshold."""
        strictness = weights.strictness
        return Cut(
            best=min(1.0, strictness * self.level(weights, language)),
            near_best=min(1.0, strictness * NEAR_BEST),
            spares_words=self.is_small and not self.answers,
        )


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, as far as a question goes."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0][:MAX_ASKED]


@dataclass(slots=True)
class LiveCalibration:
    """The scale of one collection: read or measured when first asked for, and again whenever it has grown."""

    store: Collection
    embedder: WholeEmbedder
    _usual: Calibration | None = None
    """The usual similarities of the model. None until they are asked for."""

    _measured: LevelMeasurement | None = None
    _looked_at: Moment = NO_MOMENT
    """When the records were last counted, to see whether there are many more."""

    _is_outgrown: bool = False
    _cuts: dict[str, tuple[LevelMeasurement, RankingWeights, Cut]] = field(default_factory=dict)
    """The cut that was worked out last for queries in each language, and of what."""

    _measuring: threading.Thread | None = None
    _lock: SharedLock = field(init=False)

    def __post_init__(self) -> None:
        self._lock = lock_of(self)

    def learn_scale(self) -> None:
        """Load the usual similarities of the model. Call it outside of any read transaction of the store.

        A model of an unknown scale that can measure its own does so once.
        """
        if self._usual is None:
            self._usual = usual_scale(self.embedder)

    def prepare(self) -> None:
        """Have a measurement at hand. Call it outside of any state of the store, as models and writes stand outside.

        A store that has grown is measured again in the background.
        """
        self.learn_scale()
        if self._is_lacking():
            with self._lock:
                if self._is_lacking():  # yet, and not made by another thread meanwhile
                    self._take(self._stored() or self._measured_for_later())
        elif self._is_outgrown and not self._is_measuring():
            self._measuring = threading.Thread(target=self._measure_again, name="atlas-calibration", daemon=True)
            self._measuring.start()

    def settle(self) -> None:
        """Measure the store unless it was measured at about its present size, and keep the result with it."""
        self.learn_scale()
        with self._lock:
            measurement = self._stored()
            self._take(measurement or self._measure())
        if measurement is None:
            self._keep(self.now())

    def now(self) -> LevelMeasurement:
        """Return the scale of the store as it was when it was measured. Models are not asked."""
        if self._measured is not None and not self._is_outgrown and not self._is_measuring():
            self._is_outgrown = self._has_outgrown(self._measured)
        if self._measured is None or (self._is_outgrown and self._measured.is_small):
            self._take(self._stored() or self._measure(asks=False))
        assert self._measured is not None
        return self._measured

    def costs(self, weights: RankingWeights) -> LevelCosts | None:
        """Return the costs of the level on each side, or None before it was measured. It measures nothing."""
        measured = self._measured or self._stored()
        return measured.costs(weights) if measured else None

    def cut(self, measured: LevelMeasurement, weights: RankingWeights, query: str = "") -> Cut:
        """Return which hits are shown where a search names no threshold. The last answers are remembered."""
        language = language_of(query) if len(set(measured.languages)) > 1 else ""
        last = self._cuts.get(language)
        if last is None or last[0] is not measured or last[1] != weights:
            last = self._cuts[language] = measured, weights, measured.cut(weights, language)
        return last[2]

    def cut_by_words(self, weights: RankingWeights) -> Cut:
        """Return which share of a query's words hits of a search by words need. The model is not asked.

        A store that was never measured, or has outgrown that, has the usual level.
        """
        if self._measured is None and (stored := self._stored()):
            self._take(stored)
        level = self._measured.words_level if self._measured is not None else TELLING
        return Cut(best=min(1.0, weights.strictness * level), near_best=min(1.0, weights.strictness * NEAR_BEST))

    def _take(self, measured: LevelMeasurement) -> None:
        self._measured, self._looked_at, self._is_outgrown = measured, measured.at, False

    def _is_lacking(self) -> bool:
        measurement = self._measured
        return measurement is None or not measurement.is_whole or (self._is_outgrown and measurement.is_small)

    def _is_measuring(self) -> bool:
        return self._measuring is not None and self._measuring.is_alive()

    def _has_outgrown(self, measurement: LevelMeasurement) -> bool:
        """Return whether there are many more records than were measured, or fewer.

        They are counted only when there were as many changes since as that would take.
        """
        now = self.store.moment()
        if now.ledger_id != measurement.at.ledger_id or now.change < measurement.at.change:
            return True
        if now.change - self._looked_at.change < (GROWTH - 1) * measurement.n_records:
            return False
        self._looked_at = now
        return not _is_about(self.store.n_at_most(), measurement.n_records)

    def _measure_again(self) -> None:
        try:
            self._take(measured := self._measure())
            self._keep(measured)
        except AtlasError as error:  # closed meanwhile, or damaged, which whoever asks is told
            logger.debug("the store could not be measured: %s", error)
            self._is_outgrown = False

    def _stored(self) -> LevelMeasurement | None:
        """Return the measurement that is kept with the store, unless it is of another model or of another size."""
        try:
            measurement = _decode(self.store.derived())
        except (ValueError, TypeError, KeyError, ArithmeticError):
            return None
        if measurement is None or measurement.model != self._similarity_source():
            return None
        now = self.store.moment()
        is_of_before = now.ledger_id == measurement.at.ledger_id and measurement.at.change <= now.change
        return measurement if is_of_before and _is_about(self.store.n_at_most(), measurement.n_records) else None

    def _measure(self, *, asks: bool = True) -> LevelMeasurement:
        at = self.store.moment()
        unrelated, near = self.store.similarities(SAMPLED)
        n_records = self.store.n_at_most()
        texts = self.store.sampled_texts(OWN)
        languages = languages_of(list(texts.values()))
        can_ask = len(near) > 0 and (n_records >= SMALL or languages != (ENGLISH,))
        answers = self._answers(texts, languages) if asks and can_ask else {}
        return LevelMeasurement(
            scale=calibrate(unrelated, near, self._usual or USUAL.get(self.embedder.model_name, Calibration())),
            n_records=n_records,
            model=self._similarity_source(),
            at=at,
            is_whole=asks or not can_ask,
            **answers,
        )

    def _similarity_source(self) -> str:
        """Return a label of what produces the similarities: model, prompts, word pieces or not."""
        prompts = prompts_of(self.embedder) or NO_PROMPTS
        model = self.embedder.model_name if prompts == NO_PROMPTS else f"{self.embedder.model_name} {prompts.as_text()}"
        return f"{model} with word pieces" if self.store.keeps_tokens else model

    def _measured_for_later(self) -> LevelMeasurement:
        """Return a measurement that is kept in the background: a search waits for no other writer."""
        measurement = self._measure()
        threading.Thread(target=self._keep, args=(measurement,), name="atlas-calibration", daemon=True).start()
        return measurement

    def _keep(self, measured: LevelMeasurement) -> None:
        if not measured.answers:
            return  # it took no time
        try:
            self.store.keep_derived(_encode(measured))
        except AtlasError as error:
            logger.debug("the measurement could not be kept: %s", error)

    def _answers(self, texts: Mapping[str, str], languages: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Return the best answers to foreign and own queries, in a second or two. Empty if there is no model.

        Args:
            texts: Texts of some records, by id.
            languages: Languages of the store.
        """
        foreign = calibration_queries_in(languages)
        of_queries = tuple(language for language, queries in foreign.items() for _ in queries)
        queries = [query for of_language in foreign.values() for query in of_language]
        queries += map(first_sentence, texts.values())
        found: list[dict[str, tuple[float, float]]] = []
        for start in range(0, len(queries), REMEMBERED_QUERIES):
            batch = queries[start : start + REMEMBERED_QUERIES]
            try:
                vectors = self._query_vectors(batch)
            except Exception as error:  # noqa: BLE001 - an embedder of anybody's, which may take one query but not many
                logger.warning("the level of the store is the usual one, as no foreign query was embedded: %r", error)
                return {}
            found += map(self._found, batch, vectors)
        own_answers = found[len(of_queries) :]
        itself = tuple(
            answers.pop(record_id, (0.0, 0.0)) for record_id, answers in zip(texts, own_answers, strict=True)
        )
        best = tuple(map(_best_of, found))
        return {
            "answers": best[: len(of_queries)],
            "languages": of_queries,
            "own_answers": best[len(of_queries) :],
            "itself": itself,
        }

    def _query_vectors(self, texts: list[str]) -> Sequence[Vector] | Vectors:
        """Return the vectors of queries. Where word pieces are compared, one run of the model gives a query's of both.

        The embedder remembers those of a batch for the comparison.
        """
        encode_query = get_offered(self.embedder, "encode_query")
        if self.store.keeps_tokens and encode_query:
            if remember := get_offered(self.embedder, "remember_queries"):
                remember(texts)
            return [encode_query(text) for text in texts]
        encode_together = get_offered(self.embedder, "encode_queries") or self.embedder.encode_batch
        together: Vectors = encode_together(texts)
        return together

    def _found(self, text: str, vector: Vector) -> dict[str, tuple[float, float]]:
        """Return the similarity and share of words of the records nearest to a query, by id."""
        found = self.store.candidates(vector, text, LOOKED_AT, compared=every if self.store.keeps_tokens else None)
        information = found.word_information or 1.0
        rows = zip(found.ids, found.similarities, found.words, strict=True)
        return {record_id: (near, words / information) for record_id, near, words in rows}


def _best_of(answers: Mapping[str, tuple[float, float]]) -> Answers:
    """Return the best answers by either signal, as weights decide later which one is best."""
    by_meaning = sorted(answers.values(), key=lambda answer: -answer[0])[:ANSWERS]
    by_words = sorted(answers.values(), key=lambda answer: -answer[1])[:ANSWERS]
    return tuple(dict.fromkeys([*by_meaning, *by_words]))


def every(similarities: Values, words: Values) -> npt.NDArray[np.bool_]:
    """Return True for each candidate."""
    return np.ones(len(similarities), bool)


def _is_about(n: int, measured: int) -> bool:
    """Return whether a collection of n records is still about as large as when it was measured."""
    return (n < SMALL) == (measured < SMALL) and measured / GROWTH <= n <= measured * GROWTH


def _encode(measured: LevelMeasurement) -> str:
    return json.dumps(
        {
            "version": VERSION,
            "scale": [measured.scale.unrelated, measured.scale.near],
            "n_records": measured.n_records,
            "answers": _rounded(measured.answers),
            "languages": measured.languages,
            "own_answers": _rounded(measured.own_answers),
            "itself": _rounded([measured.itself])[0],
            "model": measured.model,
            "at": [measured.at.ledger_id, measured.at.change],
        }
    )


def _rounded(answers: Sequence[Answers]) -> list[list[list[float]]]:
    return [[[round(value, 4) for value in pair] for pair in found] for found in answers]


def _read(answers: Sequence[Any]) -> tuple[Answers, ...]:
    return tuple(tuple((float(near), float(words)) for near, words in found) for found in answers)


def _decode(text: str | None) -> LevelMeasurement | None:
    """Return a measurement from its text, or raise an error of the JSON reader if it is damaged."""
    if text is None:
        return None
    encoded: dict[str, Any] = json.loads(text, parse_constant=_refuse)
    if encoded["version"] != VERSION:
        return None
    unrelated, near = map(float, encoded["scale"])
    ledger_id, change = encoded["at"]
    return LevelMeasurement(
        scale=Calibration(unrelated=unrelated, near=max(near, unrelated + MIN_SPAN)),
        n_records=int(encoded["n_records"]),
        answers=_read(encoded["answers"]),
        languages=tuple(map(str, encoded["languages"])),
        own_answers=_read(encoded["own_answers"]),
        itself=_read([encoded["itself"]])[0],
        model=str(encoded["model"]),
        at=Moment(str(ledger_id), int(change)),
    )


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a measured number")
