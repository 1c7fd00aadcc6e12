"""Success rates, their intervals, and growth by day."""

from __future__ import annotations

from datetime import date

import pytest

from atlas.core.statistics import SuccessRate, growth, sign_test, wilson_interval


@pytest.mark.parametrize(
    ("n_succeeded", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (366, 590, 0.5806, 0.6586)],
)
def test_the_interval_is_wilsons(n_succeeded, n, low, high):
    interval = wilson_interval(n_succeeded, n)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-4)


def test_unknown_outcomes_are_in_no_rate():
    rate = SuccessRate.of({"succeeded": 3, "failed": 1, "unknown": 96})
    assert (rate.n, rate.n_known, rate.share) == (100, 4, 0.75)


def test_a_rate_of_nothing_is_none():
    rate = SuccessRate.of({"unknown": 2})
    assert (rate.share, rate.interval) == (None, None)


def test_growth_counts_up_over_the_days_on_which_something_came():
    days = growth({"2026-03-03": {"succeeded": 1, "unknown": 1}, "2026-02-28": {"succeeded": 1, "failed": 2}})
    assert [day.on for day in days] == [date(2026, 2, 28), date(2026, 3, 3)]
    assert [day.added.n for day in days] == [3, 2]
    assert [day.until_then.n for day in days] == [3, 5]
    assert days[-1].until_then.share == 0.5


def test_nothing_has_not_grown():
    assert growth({}) == ()


@pytest.mark.parametrize(
    ("n_up", "n_down", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 5, 1.0), (11, 3, 0.057373), (3, 11, 0.057373), (10, 0, 0.001953)],
)
def test_the_sign_test_is_two_sided_and_exact(n_up, n_down, p):
    assert sign_test(n_up, n_down) == pytest.approx(p, abs=1e-6)
