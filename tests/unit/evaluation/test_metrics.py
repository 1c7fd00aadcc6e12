"""Metrics on cases that can be worked out by hand, and their means over every possible order."""

from __future__ import annotations

from itertools import permutations
from math import log2

import numpy as np
import pytest

from atlas.evaluation.metrics import (
    METRICS,
    JudgedRanking,
    expected_hit,
    expected_recall,
    expected_reciprocal_rank,
    found_nothing,
    hit,
    ndcg,
    recall,
    reciprocal_rank,
)


def judged(*found: int, grades: tuple[int, ...] | None = None, n_records: int = 10) -> JudgedRanking:
    """A ranking by the grades of what it found; without `grades`, it found all that is relevant."""
    known = tuple(grade for grade in found if grade) if grades is None else grades
    return JudgedRanking(retrieved=found, grades=known, n_records=n_records)


def test_hit_asks_whether_one_of_the_first_k_helps():
    ranking = judged(0, 1, 3)
    assert [hit(ranking, k) for k in (1, 2, 3, 5)] == [0, 0, 1, 1]


def test_what_is_only_related_is_no_hit_but_what_helps_is():
    assert (hit(judged(1), 1), hit(judged(2), 1), hit(judged(3), 1)) == (0, 1, 1)


def test_recall_is_of_all_that_helps_retrieved_or_not():
    ranking = judged(3, 0, 2, 1, grades=(3, 2, 2, 3, 1))
    assert [recall(ranking, k) for k in (1, 3, 10)] == [0.25, 0.5, 0.5]


def test_reciprocal_rank_is_that_of_the_first_that_helps():
    assert reciprocal_rank(judged(0, 1, 2, 3)) == pytest.approx(1 / 3)


def test_reciprocal_rank_is_nothing_beyond_the_tenth():
    assert reciprocal_rank(judged(*[0] * 9, 3)) == pytest.approx(0.1)
    assert reciprocal_rank(judged(*[0] * 10, 3)) == 0


def test_ndcg_is_the_discounted_gain_over_the_best_possible():
    ranking = judged(3, 0, 2, grades=(1, 2, 3))
    assert ndcg(ranking, 10) == pytest.approx((3 + 2 / log2(4)) / (3 + 2 / log2(3) + 1 / log2(4)))
    assert ndcg(ranking, 1) == 1


def test_ndcg_is_one_for_any_order_among_equal_grades():
    assert ndcg(judged(3, 2, 2, 1), 10) == pytest.approx(1)
    assert ndcg(judged(3, 2, 1, 2), 10) < 1


def test_ndcg_at_k_is_one_where_more_than_k_are_perfect():
    assert ndcg(judged(3, 3, grades=(3,) * 20), 2) == pytest.approx(1)


def test_ndcg_is_that_of_scikit_learn():
    from sklearn.metrics import ndcg_score  # only here: each test process imports this module

    draw = np.random.default_rng(3)
    for _ in range(20):
        grades = draw.integers(0, 4, size=15)
        theirs = ndcg_score([grades], [np.arange(15, 0, -1)], k=10)
        assert ndcg(judged(*grades.tolist(), n_records=15), 10) == pytest.approx(theirs)


@pytest.mark.parametrize("name", METRICS)
def test_where_nothing_is_relevant_every_metric_and_its_expectation_is_nothing(name):
    ranking = judged(0, 0, 0)
    assert (METRICS[name].measure(ranking), METRICS[name].expect(ranking)) == (0, 0)


def test_nothing_is_told_where_no_record_was_found_though_one_is_relevant():
    assert found_nothing(judged(grades=(3,), n_records=4)) == 1
    assert found_nothing(judged(0, grades=(3,), n_records=4)) == 0
    assert found_nothing(judged(grades=(1,), n_records=4)) == 0


@pytest.mark.parametrize("name", METRICS)
def test_where_nothing_is_stored_every_metric_and_its_expectation_is_nothing(name):
    ranking = judged(n_records=0)
    assert (METRICS[name].measure(ranking), METRICS[name].expect(ranking)) == (0, 0)


def test_fewer_records_than_k_are_enough():
    ranking = judged(0, 2, n_records=2)
    assert (hit(ranking, 5), recall(ranking, 5), ndcg(ranking, 10)) == (1, 1, pytest.approx(1 / log2(3)))
    assert (expected_hit(ranking, 5), expected_recall(ranking, 5)) == (1, 1)


def test_a_random_hit_is_hypergeometric():
    assert expected_hit(judged(grades=(3, 2), n_records=5), 2) == pytest.approx(1 - (3 / 5) * (2 / 4))


def test_a_random_reciprocal_rank_stops_at_the_tenth():
    harmonic = sum(1 / rank for rank in range(1, 11))
    assert expected_reciprocal_rank(judged(grades=(3,), n_records=200)) == pytest.approx(harmonic / 200)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("grades", [(3,), (1,), (3, 2, 1), (2, 2, 3, 1, 1)])
def test_the_expectation_is_the_mean_over_all_orders(name, grades):
    n_records = 6
    orders = list(permutations(grades + (0,) * (n_records - len(grades))))
    metric = METRICS[name]
    mean = sum(metric.measure(judged(*order, grades=grades)) for order in orders) / len(orders)
    assert metric.expect(judged(grades=grades, n_records=n_records)) == pytest.approx(mean)
