"""The order of what was retrieved: similarity first, then small nudges for what is known to have worked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.settings import RankingWeights
from atlas.core.types import NO_USAGE, Hit, Usage, Vectors

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Generic[T]):
    """A retrieved memory before it is ranked."""

    item: T
    similarity: float
    success: bool | None
    created_at: datetime
    usage: Usage = NO_USAGE

    @classmethod
    def of(cls, item: T, metadata: Mapping[str, Any], similarity: float, usage: Usage) -> Candidate[T]:
        """A candidate from what the store keeps of it."""
        return cls(
            item=item,
            similarity=similarity,
            success=metadata.get("success"),
            created_at=datetime.fromisoformat(metadata["created_at"]),
            usage=usage,
        )


def rank(candidates: Sequence[Candidate[T]], weights: RankingWeights, now: datetime) -> list[Hit[T]]:
    """The candidates as hits, highest rank value first; equal ones as they came.

    Every nudge lies between 0 and its weight, so a hit never passes one that is more similar by more than
    `weights.success + weights.use + weights.recency`.
    """
    hits = [
        Hit(item=candidate.item, similarity=candidate.similarity, signals=_signals(candidate, weights, now))
        for candidate in candidates
    ]
    return sorted(hits, key=lambda hit: -hit.rank_value)


def check_k(k: int) -> None:
    """Raise `InvalidInput` for a negative number of results."""
    if k < 0:
        raise InvalidInput(f"k should be 0 or more, but is {k}")


def overfetch(k: int) -> int:
    """How many of the most similar to rank, so that the nudges find k among them."""
    return max(4 * k, 32) if k > 0 else 0


def retention(age: timedelta, *, half_life: timedelta, floor: float = 0.0) -> float:
    """Weight of a memory of this age: 1 when new, halving every `half_life`, never under `floor`.

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


def maximal_marginal_relevance(vectors: Vectors, relevance: Sequence[float], *, diversity: float = 0.3) -> list[int]:
    """Positions in an order that is relevant first and repeats itself last.

    Args:
        vectors: One for each item.
        relevance: In [0, 1], one for each item.
        diversity: In [0, 1]: 0 orders by relevance alone.

    Source:
        Carbonell & Goldstein, SIGIR 1998.
    """
    similarity = vectors @ vectors.T
    left, chosen = list(range(len(vectors))), list[int]()
    while left:
        nearest = similarity[np.ix_(left, chosen)].max(axis=1) if chosen else np.zeros(len(left), np.float32)
        values = [
            (1 - diversity) * relevance[item] - diversity * near for item, near in zip(left, nearest, strict=True)
        ]
        chosen.append(left.pop(int(np.argmax(values))))
    return chosen


def _signals(candidate: Candidate[T], weights: RankingWeights, now: datetime) -> Mapping[str, float]:
    half_life = timedelta(days=weights.recency_half_life_days)
    worked = {True: 1.0, None: 0.5, False: 0.0}[candidate.success]
    helped = candidate.usage.n_successes / candidate.usage.n_uses if candidate.usage.n_uses else 0.5
    return {
        "similarity": candidate.similarity,
        "success": weights.success * worked,
        "use": weights.use * helped,
        "recency": weights.recency * retention(now - candidate.created_at, half_life=half_life),
    }
