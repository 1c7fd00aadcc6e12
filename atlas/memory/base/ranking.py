"""Ranking of scored hits: sorted by rank value, grouped by task, and diversified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.hits import Hit, Selector
from atlas.core.ranking.tuned import MAX_ATTEMPT_DIFFERENCE, MIN_RANKED, NEAR_COPY, RANKED_PER_HIT
from atlas.core.settings import RankingWeights
from atlas.core.types import Vectors
from atlas.memory.base.scoring import NUDGES, QUERY_SIGNALS, Calibration, Candidate, Values, relevance_signals, score

T = TypeVar("T")

TOLERANCE = 1e-9
"""Tolerance for rounding errors in a sum."""

MIN_EXPLAINED_NUDGE = 0.001
"""Smallest nudge that an explanation mentions."""

NEARNESS = (
    (0.9, "nearly the same meaning"),
    (0.55, "close in meaning"),
    (0.25, "loosely related in meaning"),
    (-np.inf, "another meaning"),
)
"""Lower bound of `meaning` for each wording."""

SHARES = ((0.95, "all"), (0.6, "most"), (0.25, "some"), (0.0, "few"))
"""Lower bound of the share of the query's words for each wording."""


def most_relevant(n: int, weights: RankingWeights, calibration: Calibration, *, slack: float = 0.0) -> Selector:
    """Return a function that selects the n candidates most relevant by meaning and words, with ties.

    Args:
        slack: Candidates whose relevance is lower than the n-th by at most this much are selected too.
    """

    def select(similarities: Values, words: Values) -> npt.NDArray[np.bool_]:
        relevances = relevance_signals(similarities, words, weights, calibration)
        if len(relevances) <= n:
            return np.ones(len(relevances), bool)
        return np.asarray(relevances >= np.partition(relevances, -n)[-n] - slack, bool)

    return select


def rank(
    candidates: Sequence[Candidate[T]],
    weights: RankingWeights,
    calibration: Calibration,
    now: datetime,
    *,
    is_kept: Callable[[Hit[T]], bool] | None = None,
    distinct: bool = False,
    prefers_success: bool = True,
    domain: str = "",
) -> list[Hit[T]]:
    """Return the candidates as hits, highest rank value first. Ties keep their order.

    All nudges of a hit add up to at most `weights.nudges`, plus `SAME_DOMAIN` if it is of the requested domain. So no
    hit ranks above another one whose relevance is higher by more than that.

    Args:
        is_kept: Function that decides whether a hit is kept. None keeps all.
        distinct: Whether to join attempts at the same task whose relevance is similar. The best one is returned, and
            its `outcomes` count all of them.
        prefers_success: Whether the first success represents its group, if there is one.
        domain: The domain whose records gain `SAME_DOMAIN`, or empty for none.
    """
    pairs = [(candidate, score(candidate, weights, calibration, now, domain)) for candidate in candidates]
    if is_kept is not None:
        pairs = [pair for pair in pairs if is_kept(pair[1])]
    pairs.sort(key=lambda pair: -pair[1].rank_value)
    return _join_attempts(pairs, prefers_success) if distinct else [hit for _, hit in pairs]


def _join_attempts(pairs: Sequence[tuple[Candidate[T], Hit[T]]], prefers_success: bool) -> list[Hit[T]]:
    """Return the hits with similar attempts at a task joined. A group shows its first hit, or its first success."""
    joined_hits: list[Hit[T]] = []
    indices_by_task: dict[str, list[int]] = {}
    for candidate, hit in pairs:
        indices = indices_by_task.setdefault(candidate.task_id, []) if candidate.task_id else []
        index = next((index for index in indices if _are_similarly_relevant(joined_hits[index], hit)), None)
        if index is None:
            indices.append(len(joined_hits))
            joined_hits.append(hit)
            continue
        group = joined_hits[index]
        is_first_success = candidate.success and "succeeded" not in group.outcomes
        outcomes = dict(Counter(group.outcomes) + Counter(hit.outcomes))
        joined_hits[index] = replace(hit if prefers_success and is_first_success else group, outcomes=outcomes)
    return sorted(joined_hits, key=lambda hit: -hit.rank_value)


def _are_similarly_relevant(hit: Hit[Any], other_hit: Hit[Any]) -> bool:
    """Return whether two hits are about equally relevant by both meaning and words."""
    signals = [sum(scored_hit.signals.get(name, 0.0) for name in QUERY_SIGNALS) for scored_hit in (hit, other_hit)]
    return (
        abs(hit.meaning - other_hit.meaning) <= MAX_ATTEMPT_DIFFERENCE
        and abs(signals[0] - signals[1]) <= MAX_ATTEMPT_DIFFERENCE
    )


def explain(hit: Hit[Any]) -> str:
    """Return sentences that explain a hit's rank."""
    if not hit.signals:
        return "The memory that found it does not explain its ranking."
    sentences = [f"Relevance {hit.relevance:.2f}: {', '.join(_describe_relevance(hit))}."]
    if "meaning" not in hit.signals:
        sentences.append("Only words count for this query.")
    nudges = {name: value for name, value in hit.signals.items() if name in NUDGES and value >= MIN_EXPLAINED_NUDGE}
    if nudges:
        sentences.append(f"{_join_names(list(nudges)).capitalize()} moved it up by {sum(nudges.values()):.3f}.")
    if "domain" in hit.signals:
        sentences.append(f"Its domain is the requested one, which moved it up by {hit.signals['domain']:.3f}.")
    if "reranker" in hit.signals:
        sentences.append(f"The reranker moved it up by {hit.signals['reranker']:.3f}.")
    if hit.signals.get("diversity", 0.0) <= -MIN_EXPLAINED_NUDGE:
        sentences.append(f"It is similar to a hit above it, which moved it down by {-hit.signals['diversity']:.3f}.")
    return " ".join(sentences)


def _describe_relevance(hit: Hit[Any]) -> list[str]:
    """Return a phrase for each signal that contributes to a hit's relevance."""
    phrases = []
    if "meaning" in hit.signals:
        wording = next(wording for bound, wording in NEARNESS if hit.meaning >= bound)
        phrases.append(f"{wording} (similarity {hit.similarity:.2f})")
    if "words" in hit.signals:
        phrases.append(_describe_share(hit.words))
    if "context" in hit.signals:
        phrases.append(f"the entries just after it add {hit.context:.0%}")
    return [*phrases[:-1], f"and {phrases[-1]}"] if len(phrases) > 1 else phrases


def _describe_share(share: float) -> str:
    """Return a phrase for the IDF-weighted share of the query's words that a text contains."""
    if not share:
        return "none of the query's words"
    wording = next(wording for bound, wording in SHARES if share >= bound)
    return f"{wording} of the query's words ({share:.0%}, where rare words count more)"


def _join_names(names: Sequence[str]) -> str:
    """Return names as a list in words, such as `success, use and recency`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def n_candidates(k: int) -> int:
    """Return the number of candidates to rank for k hits."""
    return max(RANKED_PER_HIT * k, MIN_RANKED) if k > 0 else 0


def maximal_marginal_relevance(vectors: Vectors, relevance: Sequence[float], *, diversity: float = 0.3) -> list[int]:
    """Return the positions of items in the order of maximal marginal relevance.

    Args:
        vectors: Shape (n_items, dim), rows of unit length.
        relevance: Relevance of each item, in [0, 1].
        diversity: In [0, 1]: 0 orders by relevance alone.

    Source:
        Carbonell & Goldstein, SIGIR 1998.
    """
    max_similarity = np.zeros(len(vectors))
    is_unselected = np.ones(len(vectors), bool)
    selected_positions = []
    for _ in range(len(vectors)):
        values = (1 - diversity) * np.asarray(relevance) - diversity * max_similarity
        selected_positions.append(int(np.argmax(np.where(is_unselected, values, -np.inf))))
        is_unselected[selected_positions[-1]] = False
        max_similarity = np.maximum(max_similarity, vectors @ vectors[selected_positions[-1]])
    return selected_positions


def diversify(hits: Sequence[Hit[T]], vectors: Vectors, diversity: float) -> list[Hit[T]]:
    """Return the hits reordered, with the value of near-copies of earlier hits reduced.

    The reduction becomes a negative signal `diversity`, so that the signals still add up to the rank value. Hits on the
    same subject with different contents are not reduced, because each may be right.

    Args:
        hits: Best first.
        vectors: Vectors of the hits, shape (n_hits, dim), rows of unit length.
        diversity: Share of its rank value that a near-copy loses, in [0, 1).
    """
    values = np.array([hit.rank_value for hit in hits])
    reductions = np.zeros(len(hits))
    is_unselected = np.ones(len(hits), bool)
    diversified = []
    for _ in hits:
        best_index = int(np.argmax(np.where(is_unselected, values - reductions, -np.inf)))
        diversified.append(
            replace(hits[best_index], signals={**hits[best_index].signals, "diversity": -float(reductions[best_index])})
        )
        is_unselected[best_index] = False
        is_copy = is_unselected & (vectors @ vectors[best_index] >= NEAR_COPY)
        reductions[is_copy] = diversity * np.maximum(0.0, values[is_copy])
    return diversified


def check_threshold(threshold: float) -> None:
    """Raise `InvalidInput` unless a relevance threshold is in [0, 1]."""
    if not 0 <= threshold <= 1:
        raise InvalidInput(f"expected a relevance threshold from 0 to 1, got {threshold!r}")


def check_diversity(diversity: float) -> None:
    """Raise `InvalidInput` unless a diversity is in [0, 1)."""
    if not 0 <= diversity < 1:
        raise InvalidInput(f"expected a diversity of at least 0 and less than 1, got {diversity!r}")
