"""Scoring of one hit: a rank value from similarity, words and further features.

The steps are:

1. `build_candidates` collects the features of a record: its similarity to the query, the IDF-weighted share of the
   query's words, and the others that the ranking needs.
2. `Calibration.rescale` puts the similarity on the scale of the store, from unrelated texts to neighbours.
3. `weighted_signals` gives the two signals of relevance their weights. `relevance` is their sum, in [0, 1].
4. `nudges` are small: among hits of similar relevance, successful, used, new and pinned records come first. Records
   of a requested domain get a larger addition.
5. The rank value is the sum of all signals (`Hit.rank_value`).

Relevance is a sum of two calibrated values, not of ranks. So it does not depend on the other hits, and a low relevance
of the best hit means that nothing was found. `atlas.memory.base.ranking` sorts scored hits, and
`atlas.memory.base.calibration` measures the scale and decides which hits are shown. The constants are in
`atlas.core.ranking.tuned`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.hits import Candidates, Hit
from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, Usage
from atlas.core.ranking.tuned import SAME_DOMAIN, SUCCESS_SHARES, WORDS_POWER
from atlas.core.settings import RankingWeights
from atlas.core.types import Outcome
from atlas.storage.damage import stored_instant

T = TypeVar("T")

Values = npt.NDArray[np.float64]
"""Shape (n,)."""

Number = TypeVar("Number", float, Values)
"""A number, or many numbers."""

LABELS = {success: Outcome(success).label for success in SUCCESS_SHARES}

NUDGES = ("success", "use", "recency", "pin", "importance")

QUERY_SIGNALS = ("meaning", "words", "context")
"""The signals that add up to relevance."""

_FAILURE_WORDS = re.compile(
    r"\b(?:[A-Za-z]*(?:Error|Exception)|Traceback|(?i:abort(?:s|ed)?|bug(?:s|gy)?|core dumped"
    r"|crash(?:e[sd]|ing)?|fail(?:s|ed|ures?|ing)?|incorrect(?:ly)?|mistakes?|panic|segfault(?:s|ed)?|stack trace"
    r"|timed out|wrong(?:ly)?))\b"
)
"""Words of error messages, and of reflections on failed attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Generic[T]):
    """A retrieved record before it is ranked."""

    item: T
    similarity: float
    words: float = 0.0
    """IDF-weighted share of the query's words that the record contains, in [0, 1]."""

    context: float = 0.0
    """Discounted share of the query's words in the next records of the log. May exceed 1."""

    task_id: str = ""
    """Id of the attempted task, or empty if unknown."""

    domain: str = ""
    """Domain of the attempted task, or empty if unknown."""

    success: bool | None = None
    prior: float | None = None
    """Estimated rate of success, in [0, 1], or None if `success` is the record's own outcome."""

    created_at: datetime
    usage: Usage = NO_USAGE
    is_pinned: bool = False
    importance: float | None = None
    """Importance of a journal entry, in [0, 1], which replaces success. None for other memories."""


def build_candidates(
    result: Candidates,
    usage: Mapping[str, Usage],
    marks: Mapping[str, Marks],
    prior: Callable[[Usage], float] | None = None,
) -> list[Candidate[str]]:
    """Return the store's search results as unranked candidates, each with the record's id as its item.

    Args:
        prior: Function that estimates a success rate from a record's usage, for records without an outcome of their
            own.
    """
    information = result.word_information or 1.0
    contexts = result.context or [0.0] * len(result.ids)
    rows = zip(result.ids, result.similarities, result.words, contexts, result.metadatas, strict=True)
    return [
        Candidate(
            item=record_id,
            similarity=similarity,
            words=words / information,
            context=context / information,
            task_id=str(metadata.get("task_id", "")),
            domain=str(metadata.get("domain", "")),
            success=metadata.get("success"),
            prior=prior(usage.get(record_id, NO_USAGE)) if prior else None,
            created_at=stored_instant(metadata),
            usage=usage.get(record_id, NO_USAGE),
            is_pinned=marks.get(record_id, NO_MARKS).pinned,
            importance=metadata.get("importance"),
        )
        for record_id, similarity, words, context, metadata in rows
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The scale of similarities in one store with one model."""

    unrelated: float = 0.1
    """Typical cosine of two unrelated texts."""

    near: float = 0.7
    """Typical cosine of a text and its nearest neighbour."""

    def rescale(self, similarity: Number) -> Number:
        """Return similarities on the store's scale: 0 for unrelated texts, 1 for neighbours. Not clipped."""
        return (similarity - self.unrelated) / (self.near - self.unrelated)


def score(
    candidate: Candidate[T], weights: RankingWeights, calibration: Calibration, now: datetime, domain: str = ""
) -> Hit[T]:
    """Return a candidate as a hit with a relevance, and with signals that add up to the rank value.

    Args:
        domain: The preferred domain, or empty for none.
    """
    closeness = calibration.rescale(candidate.similarity)
    meaning, words = weighted_signals(closeness, candidate.words, weights)
    context = weighted_signals(closeness, candidate.words + candidate.context, weights)[1] - words
    signals = {"meaning": meaning} if weights.meaning else {}
    signals |= {"words": words} if weights.words else {}
    signals |= {"context": context} if context else {}
    signals |= {"domain": SAME_DOMAIN} if domain and candidate.domain == domain else {}
    return Hit(
        item=candidate.item,
        similarity=candidate.similarity,
        meaning=closeness,
        words=candidate.words,
        context=min(1.0, candidate.context),
        relevance=relevance(meaning + (words + context), weights),
        signals=signals | nudge_signals(candidate, weights, now),
        outcomes={LABELS[candidate.success]: 1},
    )


def weighted_signals(meaning: float, words: float, weights: RankingWeights) -> tuple[float, float]:
    """Return the two weighted signals of relevance, for meaning and for words.

    Args:
        meaning: Similarity on the store's scale.
        words: IDF-weighted share of the query's words.
    """
    return weights.meaning * meaning, weights.words * min(1.0, words) ** WORDS_POWER


def relevance(signals: float, weights: RankingWeights) -> float:
    """Return the relevance, in [0, 1], of a sum of the two signals from `weighted_signals`."""
    return min(1.0, max(0.0, signals / ((weights.meaning + weights.words) or 1.0)))


def relevance_signals(similarities: Values, words: Values, weights: RankingWeights, calibration: Calibration) -> Values:
    """Return the sum of the two signals of `weighted_signals` for each candidate, shape (n,)."""
    shares = np.minimum(1.0, words) ** WORDS_POWER
    return np.asarray(weights.meaning * calibration.rescale(similarities) + weights.words * shares, np.float64)


def nudge_signals(candidate: Candidate[T], weights: RankingWeights, now: datetime) -> dict[str, float]:
    """Return the signals of a candidate that do not depend on the query, keyed by name. Each is at most its weight."""
    success_share = candidate.usage.n_successes / candidate.usage.n_uses if candidate.usage.n_uses else 0.5
    half_life = timedelta(days=weights.recency_half_life_days)
    if candidate.importance is not None:  # a journal entry, which has no outcome
        quality = {"importance": weights.importance * candidate.importance}
    else:
        success_rate = SUCCESS_SHARES[candidate.success] if candidate.prior is None else candidate.prior
        quality = {"success": weights.success * success_rate}
    return quality | {
        "use": weights.use * success_share,
        "recency": weights.recency * retention(now - candidate.created_at, half_life=half_life),
        "pin": weights.pin * candidate.is_pinned,
    }


def seeks_failures(query: str) -> bool:
    """Return whether a query asks about a failure, so that failed attempts are as useful as successes."""
    return _FAILURE_WORDS.search(query) is not None


def retention(age: timedelta, *, half_life: timedelta, floor: float = 0.0) -> float:
    """Return the weight of a memory of this age: 1 when new, halving every `half_life`, never under `floor`.

    Args:
        age: Time since the memory was made; negative counts as new.
        half_life: Positive.
        floor: In [0, 1].

    Raises:
        InvalidInput: `half_life` is not positive, or `floor` is outside [0, 1].

    Source:
        Half-life form of Settles & Meeder, ACL 2016.
    """
    if half_life <= timedelta(0):
        raise InvalidInput(f"expected a positive half_life, got {half_life}")
    if not 0 <= floor <= 1:
        raise InvalidInput(f"expected a number from 0 to 1 for floor, got {floor}")
    return max(floor, float(0.5 ** (max(age, timedelta(0)) / half_life)))
