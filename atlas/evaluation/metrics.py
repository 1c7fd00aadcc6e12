"""Metrics of a ranking: hit, recall, reciprocal rank and nDCG, and their means under a random order.

All metrics take a ranking with its judgements, and are 0 if no record is relevant. Expectations under a random order
are exact: each is a closed form of the hypergeometric distribution, without simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

RELATED, HELPS, SAME = 1, 2, 3
"""Grades: somewhat related, clearly helpful, and the same problem. A record without a judgement has 0."""

DEPTH = 10
"""Number of ranks that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRanking:
    """The grades of the records that a retriever returned for one query, and of all relevant records."""

    retrieved: tuple[int, ...]
    """Grades of the retrieved records, keyed by rank."""

    grades: tuple[int, ...]
    """Grades above 0 of all searchable records, in any order."""

    n_records: int
    """Number of searchable records."""

    @property
    def n_relevant(self) -> int:
        """Number of relevant records, including those that were not retrieved."""
        return sum(map(is_relevant, self.grades))


def is_relevant(grade: int) -> bool:
    """Return whether a grade counts as relevant for hit, recall and reciprocal rank: `helps` or `same problem`."""
    return grade >= HELPS


def hit(ranking: JudgedRanking, k: int) -> float:
    """Return 1 if one of the first k records is relevant, else 0."""
    return float(any(map(is_relevant, ranking.retrieved[:k])))


def recall(ranking: JudgedRanking, k: int) -> float:
    """Return the share of the relevant records that are among the first k."""
    return sum(map(is_relevant, ranking.retrieved[:k])) / max(ranking.n_relevant, 1)


def reciprocal_rank(ranking: JudgedRanking) -> float:
    """Return the inverse of the rank of the first relevant record, or 0 if none is among the first `DEPTH`."""
    ranks = (rank for rank, grade in enumerate(ranking.retrieved[:DEPTH], start=1) if is_relevant(grade))
    return 1.0 / next(ranks, math.inf)


def ndcg(ranking: JudgedRanking, k: int) -> float:
    """Return the discounted cumulative gain of the first k records, divided by that of the ideal order.

    The gain is the grade itself and the discount log2(1 + rank), as in trec_eval and scikit-learn.

    Source:
        Järvelin & Kekäläinen, ACM Transactions on Information Systems 2002.
    """
    ideal = _discounted_gain(sorted(ranking.grades, reverse=True)[:k])
    return _discounted_gain(ranking.retrieved[:k]) / ideal if ideal else 0.0


def found_nothing(ranking: JudgedRanking) -> float:
    """Return 1 if the ranking is empty although a record is relevant, else 0. Lower is better."""
    return float(not ranking.retrieved and ranking.n_relevant > 0)


def expected_hit(ranking: JudgedRanking, k: int) -> float:
    """Return the expected `hit` under a random order: 1 − the probability that none of k records is relevant."""
    n_records, n_relevant = ranking.n_records, ranking.n_relevant
    return 1.0 - math.comb(n_records - n_relevant, min(k, n_records)) / math.comb(n_records, min(k, n_records))


def expected_recall(ranking: JudgedRanking, k: int) -> float:
    """Return the expected `recall` under a random order: the share of records that are among the first k."""
    return min(k, ranking.n_records) / ranking.n_records if ranking.n_relevant else 0.0


def expected_reciprocal_rank(ranking: JudgedRanking) -> float:
    """Return the expected `reciprocal_rank` under a random order.

    The result is the sum over ranks of 1 / rank times the probability that the first relevant record has that rank.
    """
    n_records = ranking.n_records
    n_relevant = ranking.n_relevant
    expected = 0.0
    probability_of_none = 1.0
    for rank in range(1, min(DEPTH, n_records) + 1):
        probability_here = min(n_relevant / (n_records - rank + 1), 1.0)
        expected += probability_of_none * probability_here / rank
        probability_of_none *= 1.0 - probability_here
    return expected


def expected_ndcg(ranking: JudgedRanking, k: int) -> float:
    """Return the expected `ndcg` under a random order: the mean gain at every rank."""
    mean_gain = sum(ranking.grades) / max(ranking.n_records, 1)
    ideal = _discounted_gain(sorted(ranking.grades, reverse=True)[:k])
    return _discounted_gain([mean_gain] * min(k, ranking.n_records)) / ideal if ideal else 0.0


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of a report."""

    measure: Callable[[JudgedRanking], float]
    """Function that computes the metric, in [0, 1]."""

    expect: Callable[[JudgedRanking], float]
    """Function that computes its mean over all orders of the records."""


EMPTY_SHARE = "found nothing"

METRICS: Mapping[str, Metric] = {
    **{f"hit@{k}": Metric(partial(hit, k=k), partial(expected_hit, k=k)) for k in (1, 5, DEPTH)},
    "recall@10": Metric(partial(recall, k=DEPTH), partial(expected_recall, k=DEPTH)),
    "MRR@10": Metric(reciprocal_rank, expected_reciprocal_rank),
    "nDCG@10": Metric(partial(ndcg, k=DEPTH), partial(expected_ndcg, k=DEPTH)),
    EMPTY_SHARE: Metric(found_nothing, lambda ranking: 0.0),
}
"""Metrics of the report, keyed by name, in the order of its columns."""


def _discounted_gain(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(1 + rank) for rank, gain in enumerate(gains, start=1))
