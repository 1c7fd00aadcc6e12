"""How the score of one hit comes about, from what a search found of a record to its rank value.

In this order:

1. `candidates_of` puts together what is found of a record: its similarity to the query, what share of the query's words
   it has, each weighed by how rare it is, and what else the ranking asks for.
2. `Calibration.meaning` puts the similarity on the scale of the store, from unrelated texts to neighbours.
3. `weighed` gives the two signals of relevance their weights. `relevance` is their sum, in [0, 1].
4. `nudges` are small: what worked, is used, is new or is pinned comes first among hits of similar relevance.
5. The rank value is the sum of all signals (`Hit.rank_value`).

Relevance is a sum of two calibrated values, not of ranks. So it does not depend on what else was found, and shows by
itself whether anything was. `atlas.memory.base.ranking` puts scored hits in order, and `atlas.memory.base.calibration`
measures the scale and decides which hits are shown. The numbers stand in `atlas.core.ranking.tuned`.
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
from atlas.core.operations import NO_USAGE, Usage
from atlas.core.ranking.tuned import WORDS_POWER, WORKED
from atlas.core.settings import RankingWeights
from atlas.core.types import Outcome
from atlas.storage.damage import stored_instant

T = TypeVar("T")

Values = npt.NDArray[np.float64]
"""Shape (n,)."""

LABELS = {success: Outcome(success).label for success in WORKED}

NUDGES = ("success", "use", "recency", "pin", "importance")

QUERY_SIGNALS = ("meaning", "words", "context")
"""The signals that relevance is made of."""

_OF_FAILURES = re.compile(
    r"\b(?:[A-Za-z]*(?:Error|Exception)|Traceback|(?i:abort(?:s|ed)?|bug(?:s|gy)?|core dumped"
    r"|crash(?:e[sd]|ing)?|fail(?:s|ed|ures?|ing)?|incorrect(?:ly)?|mistakes?|panic|segfault(?:s|ed)?|stack trace"
    r"|timed out|wrong(?:ly)?))\b"
)
"""The words of error messages, and those in which a reflection speaks of an attempt that went wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Generic[T]):
    """A retrieved memory before it is ranked."""

    item: T
    similarity: float
    words: float = 0.0
    """Share of the query's words that it has, each weighed by how rare it is, in [0, 1]."""

    context: float = 0.0
    """The same of the records just after it, as far as that counts for it. Above 1 if several hold much."""

    task_id: str = ""
    """The task that it was an attempt at, or empty if that is not known."""

    success: bool | None = None
    prior: float | None = None
    """Estimated rate of success, in [0, 1], or None if `success` is the record's own outcome."""

    created_at: datetime
    usage: Usage = NO_USAGE
    is_pinned: bool = False
    importance: float | None = None
    """In [0, 1], of a journal's entry, which no success belongs to, or None for others."""


def candidates_of(
    found: Candidates,
    usage: Mapping[str, Usage],
    pinned: Mapping[str, bool],
    prior: Callable[[Usage], float] | None = None,
) -> list[Candidate[str]]:
    """Return the records that a store found, by id, before they are ranked.

    Args:
        prior: From how often a record was used and helped to how likely it is to help, for records without an outcome
            of their own.
    """
    information = found.word_information or 1.0
    context = found.context or [0.0] * len(found.ids)
    rows = zip(found.ids, found.similarities, found.words, context, found.metadatas, strict=True)
    return [
        Candidate(
            item=record_id,
            similarity=similarity,
            words=words / information,
            context=around / information,
            task_id=str(metadata.get("task_id", "")),
            success=metadata.get("success"),
            prior=prior(usage.get(record_id, NO_USAGE)) if prior else None,
            created_at=stored_instant(metadata),
            usage=usage.get(record_id, NO_USAGE),
            is_pinned=pinned.get(record_id, False),
            importance=metadata.get("importance"),
        )
        for record_id, similarity, words, around, metadata in rows
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The scale of similarities in one store with one model."""

    unrelated: float = 0.1
    """The usual cosine of two unrelated texts."""

    near: float = 0.7
    """The usual cosine of a text and the nearest other one."""

    def meaning(self, similarity: float) -> float:
        """Return 0 for unrelated texts, 1 for neighbours. Farther or nearer texts are outside of that."""
        return (similarity - self.unrelated) / (self.near - self.unrelated)

    def meanings(self, similarities: Values) -> Values:
        """Return the same of many."""
        return (similarities - self.unrelated) / (self.near - self.unrelated)


def score(candidate: Candidate[T], weights: RankingWeights, calibration: Calibration, now: datetime) -> Hit[T]:
    """Return a candidate as a hit, with its signals and the relevance that they make."""
    near = calibration.meaning(candidate.similarity)
    meaning, words = weighed(near, candidate.words, weights)
    context = weighed(near, candidate.words + candidate.context, weights)[1] - words
    signals = {"meaning": meaning, "words": words} if weights.words else {"meaning": meaning}
    signals |= {"context": context} if context else {}
    return Hit(
        item=candidate.item,
        similarity=candidate.similarity,
        meaning=near,
        words=candidate.words,
        context=min(1.0, candidate.context),
        relevance=relevance(meaning, words + context, weights),
        signals=signals | nudges(candidate, weights, now),
        outcomes={LABELS[candidate.success]: 1},
    )


def weighed(meaning: float, words: float, weights: RankingWeights) -> tuple[float, float]:
    """Return both signals of relevance, meaning and words, as they add to a rank value.

    Args:
        meaning: On a store's scale.
        words: Share of the query's words that the record has, each weighed by how rare it is.
    """
    return weights.meaning * meaning, weights.words * min(1.0, words) ** WORDS_POWER


def of_words(shares: Values) -> Values:
    """Return the signal of words, of many candidates, before it gets its weight."""
    return np.asarray(np.minimum(1.0, shares) ** WORDS_POWER, np.float64)


def relevance(meaning: float, words: float, weights: RankingWeights) -> float:
    """Return the relevance, in [0, 1], of two weighed signals."""
    return min(1.0, max(0.0, (meaning + words) / ((weights.meaning + weights.words) or 1.0)))


def relevance_signals(similarities: Values, words: Values, weights: RankingWeights, calibration: Calibration) -> Values:
    """Return the sum of both weighed signals of relevance, of many candidates."""
    return weights.meaning * calibration.meanings(similarities) + weights.words * of_words(words)


def nudges(candidate: Candidate[T], weights: RankingWeights, now: datetime) -> dict[str, float]:
    """Return the nudges of a candidate among those of similar relevance, each between 0 and its weight."""
    helped = candidate.usage.n_successes / candidate.usage.n_uses if candidate.usage.n_uses else 0.5
    half_life = timedelta(days=weights.recency_half_life_days)
    if candidate.importance is not None:  # a journal's entry, which is not an attempt
        good = {"importance": weights.importance * candidate.importance}
    else:
        good = {
            "success": weights.success * (WORKED[candidate.success] if candidate.prior is None else candidate.prior)
        }
    return good | {
        "use": weights.use * helped,
        "recency": weights.recency * retention(now - candidate.created_at, half_life=half_life),
        "pin": weights.pin * candidate.is_pinned,
    }


def seeks_failures(query: str) -> bool:
    """Return whether a query is about something that went wrong, so that failures answer it as well as successes."""
    return _OF_FAILURES.search(query) is not None


def retention(age: timedelta, *, half_life: timedelta, floor: float = 0.0) -> float:
    """Return the weight of a memory of this age: 1 when new, halving every `half_life`, never under `floor`.

    Args:
        age: Time since it was made; negative counts as new.
        half_life: Positive.
        floor: In [0, 1].

    Raises:
        InvalidInput: `half_life` is not positive, or `floor` is outside [0, 1].

    Source:
        Half-life form of Settles & Meeder, ACL 2016.
    """
    if half_life <= timedelta(0) or not 0 <= floor <= 1:
        raise InvalidInput(f"expected a positive half-life and a floor in [0, 1], but got {half_life} and {floor}")
    return max(floor, float(0.5 ** (max(age, timedelta(0)) / half_life)))
