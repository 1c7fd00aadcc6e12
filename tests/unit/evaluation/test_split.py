"""The two halves, and intervals over tasks."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.statistics import MIN_GROUPS, estimates
from atlas.evaluation.split import is_in_half, is_in_test_half

GROUPS = [f"task-{number}" for number in range(40)]


def test_the_halves_are_fixed_for_good():
    """Were this to change, what was tuned on would be reported on: then keep the code, not the new values."""
    tested = [number for number in range(16) if is_in_test_half(f"tau-bench/airline/{number}")]
    assert tested == [2, 4, 5, 6, 7, 8, 9, 15]


def test_about_half_of_all_tasks_are_tested_on():
    share = sum(is_in_test_half(f"mbpp/{number}") for number in range(2_000)) / 2_000
    assert share == pytest.approx(0.5, abs=0.03)


def test_another_seed_gives_other_halves():
    assert [is_in_test_half(group, 1) for group in GROUPS] != [is_in_test_half(group, 2) for group in GROUPS]


def test_every_task_is_in_just_one_half_and_in_both_together():
    for group in GROUPS:
        assert is_in_half("dev", group) != is_in_half("test", group)
        assert is_in_half("both", group)


def test_the_mean_is_over_queries():
    [estimate] = estimates(np.array([[1.0], [0.0], [0.0], [0.0]]), list("aabc"), seed=0)
    assert estimate.mean == 0.25


def test_many_queries_of_a_task_are_no_surer_than_one():
    of_tasks = np.random.default_rng(0).random((40, 2))
    single = estimates(of_tasks, GROUPS, seed=1)
    repeated = estimates(np.repeat(of_tasks, 20, axis=0), np.repeat(GROUPS, 20).tolist(), seed=1)
    for one, many in zip(single, repeated, strict=True):
        assert (many.interval.low, many.interval.high) == pytest.approx((one.interval.low, one.interval.high))


def test_independent_queries_have_the_interval_of_their_standard_error():
    values = (np.arange(400) % 2)[:, None].astype(float)
    [estimate] = estimates(values, [f"task-{number}" for number in range(400)], seed=0)
    half = 1.96 * 0.5 / 20
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.006)


def test_a_difference_that_is_the_same_for_every_task_is_certain():
    [estimate] = estimates(np.full((40, 1), 0.25), GROUPS, seed=0)
    assert (estimate.interval.low, estimate.interval.high) == (0.25, 0.25)


def test_the_order_of_the_queries_does_not_matter():
    values = np.random.default_rng(0).random((40, 1))
    [there] = estimates(values, GROUPS, seed=5)
    [back] = estimates(values[::-1], GROUPS[::-1], seed=5)
    assert back.mean == pytest.approx(there.mean)
    assert (back.interval.low, back.interval.high) == pytest.approx((there.interval.low, there.interval.high))


def test_the_seed_decides_what_is_drawn():
    values = np.random.default_rng(0).random((40, 1))
    first, again, other = (estimates(values, GROUPS, seed=seed)[0] for seed in (5, 5, 6))
    assert first == again
    assert first.interval != other.interval


def test_too_few_tasks_have_no_interval():
    groups = [f"task-{number % (MIN_GROUPS - 1)}" for number in range(100)]
    assert estimates(np.ones((100, 1)), groups, seed=0)[0].interval is None
