"""How good a ranking is: hit, recall, reciprocal rank and nDCG, and what a random order would give on average.

All take what their judgements say of a ranking, and are 0 where nothing is relevant. Expectations under a random order
are exact: each is a closed form of the hypergeometric distribution, nothing is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

RELATED, HELPS, SAME = 1, 2, 3
"""Grades: somewhat related and worth seeing; clearly helps; the very problem. What was not judged has 0."""

DEPTH = 10
"""Records of a ranking that are looked at: about what a person reads, or an agent is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRanking:
    """What the judgements of one query say of a ranking."""

    found: tuple[int, ...]
    """Grade of each record that was retrieved, the best ranked first."""

    grades: tuple[int, ...]
    """Grades above 0 of all records that could have been retrieved, in any order."""

    n_records: int
    """Records that could have been retrieved."""

    @property
    def n_relevant(self) -> int:
        """Records that clearly help, retrieved or not."""
        return sum(map(is_relevant, self.grades))


def is_relevant(grade: int) -> bool:
    """Whether hit, recall and reciprocal rank count a record: it clearly helps, or is the very problem."""
    return grade >= HELPS


def hit(ranking: JudgedRanking, k: int) -> float:
    """1 where one of the first k is relevant, else 0."""
    return float(any(map(is_relevant, ranking.found[:k])))


def recall(ranking: JudgedRanking, k: int) -> float:
    """The share of the relevant records that is among the first k; under 1 where there are more than k of them."""
    return sum(map(is_relevant, ranking.found[:k])) / max(ranking.n_relevant, 1)


def reciprocal_rank(ranking: JudgedRanking) -> float:
    """1 / the rank of the first relevant record; 0 where none is among the first `DEPTH`."""
    ranks = (rank for rank, grade in enumerate(ranking.found[:DEPTH], start=1) if is_relevant(grade))
    return 1.0 / next(ranks, math.inf)


def ndcg(ranking: JudgedRanking, k: int) -> float:
    """Gain of the first k, each less the later it comes, as a share of the best possible order of all judged records.

    The gain is the grade itself and the discount log2(1 + rank), as in trec_eval and scikit-learn.

    Source:
        Järvelin & Kekäläinen, ACM Transactions on Information Systems 2002.
    """
    ideal = _discounted(sorted(ranking.grades, reverse=True)[:k])
    return _discounted(ranking.found[:k]) / ideal if ideal else 0.0


def expected_hit(ranking: JudgedRanking, k: int) -> float:
    """`hit` under a random order: 1 − the chance to draw k records, none of them relevant."""
    n, n_relevant = ranking.n_records, ranking.n_relevant
    return 1.0 - math.comb(n - n_relevant, min(k, n)) / math.comb(n, min(k, n))


def expected_recall(ranking: JudgedRanking, k: int) -> float:
    """`recall` under a random order: each record is among the first k with the same chance."""
    return min(k, ranking.n_records) / ranking.n_records if ranking.n_relevant else 0.0


def expected_reciprocal_rank(ranking: JudgedRanking) -> float:
    """`reciprocal_rank` under a random order: the sum over ranks of the chance that the first relevant one is there."""
    n, n_relevant, expected, none_before = ranking.n_records, ranking.n_relevant, 0.0, 1.0
    for rank in range(1, min(DEPTH, n) + 1):
        here = min(n_relevant / (n - rank + 1), 1.0)
        expected += none_before * here / rank
        none_before *= 1.0 - here
    return expected


def expected_ndcg(ranking: JudgedRanking, k: int) -> float:
    """`ndcg` under a random order: the mean gain at every rank."""
    mean = sum(ranking.grades) / max(ranking.n_records, 1)
    ideal = _discounted(sorted(ranking.grades, reverse=True)[:k])
    return _discounted([mean] * min(k, ranking.n_records)) / ideal if ideal else 0.0


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of a report."""

    measure: Callable[[JudgedRanking], float]
    """Its value, in [0, 1]."""

    expect: Callable[[JudgedRanking], float]
    """Its mean over all orders of the records."""


METRICS: Mapping[str, Metric] = {
    **{f"hit@{k}": Metric(partial(hit, k=k), partial(expected_hit, k=k)) for k in (1, 5, DEPTH)},
    "recall@10": Metric(partial(recall, k=DEPTH), partial(expected_recall, k=DEPTH)),
    "MRR@10": Metric(reciprocal_rank, expected_reciprocal_rank),
    "nDCG@10": Metric(partial(ndcg, k=DEPTH), partial(expected_ndcg, k=DEPTH)),
}
"""What is reported, by name, in this order."""


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(1 + rank) for rank, gain in enumerate(gains, start=1))
