"""Success rates, their intervals, and rates by day."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import date
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc, betaincinv

from atlas.core.errors import InvalidInput
from atlas.core.statistics import SuccessRate, beta_cdf, beta_quantile, credible_interval, rates_by_day, sign_test

PARAMETERS = (0.01, 0.1, 0.5, 1, 1.5, 2, 3, 7, 10, 33.3, 100, 1_000, 12_345, 1e5, 1e6)
"""Alphas and betas, from priors that are nearly none to millions of tries."""


@pytest.mark.parametrize(
    ("n_succeeded", "n", "low", "high"),
    [(0, 0, 0.025, 0.975), (1, 1, 0.158114, 1.0), (0, 1, 0.0, 0.841886), (7, 10, 0.390257, 0.890744)],
)
def test_intervals_are_the_quantiles_of_the_posterior_and_hold_the_rate_that_was_seen(n_succeeded, n, low, high):
    interval = credible_interval(n_succeeded, n)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=1e-5), pytest.approx(high, abs=1e-5))
    assert SuccessRate(n_succeeded=n_succeeded, n_failed=n - n_succeeded).interval == (interval if n else None)


def test_intervals_hold_the_true_rate_as_often_as_they_say():
    draw = random.Random(7)
    n_held = 0
    for _ in range(2_000):
        rate = draw.random()
        interval = credible_interval(sum(draw.random() < rate for _ in range(8)), 8)
        n_held += interval.low <= rate <= interval.high
    assert 0.93 < n_held / 2_000 < 0.97


@pytest.mark.parametrize(("n_succeeded", "n", "level"), [(4, 3, 0.95), (-1, 3, 0.95), (1, 3, 1.0)])
def test_an_impossible_count_or_level_is_refused(n_succeeded, n, level):
    with pytest.raises(InvalidInput, match="expected"):
        credible_interval(n_succeeded, n, level=level)


def test_unknown_outcomes_are_in_no_rate():
    rate = SuccessRate.of({"succeeded": 3, "failed": 1, "unknown": 96})
    assert (rate.n, rate.n_known, rate.share) == (100, 4, 0.75)


def test_a_rate_of_nothing_is_none():
    rate = SuccessRate.of({"unknown": 2})
    assert (rate.share, rate.interval) == (None, None)


def test_the_rates_of_days_are_in_order_without_days_on_which_nothing_came():
    days = rates_by_day({"2026-03-03": {"succeeded": 1, "unknown": 1}, "2026-02-28": {"succeeded": 1, "failed": 2}})
    assert [day.on for day in days] == [date(2026, 2, 28), date(2026, 3, 3)]
    assert [(day.rate.n, day.rate.n_known) for day in days] == [(3, 3), (2, 1)]
    assert rates_by_day({}) == ()


@pytest.mark.parametrize(
    ("n_won", "n_lost", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 5, 1.0), (11, 3, 0.057373), (3, 11, 0.057373), (10, 0, 0.001953)],
)
def test_the_sign_test_is_two_sided_and_exact(n_won, n_lost, p):
    assert sign_test(n_won, n_lost) == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize(
    ("probability", "alpha", "beta", "quantile"),
    [
        (0.025, 1, 1, 0.025),
        (0.25, 1, 2, 1 - 0.75**0.5),
        (0.25, 2, 1, 0.5),
        (0.5, 7, 7, 0.5),
        (1 / 3, 0.5, 0.5, 0.25),
        (0.0, 3, 4, 0.0),
        (1.0, 3, 4, 1.0),
    ],
)
def test_a_quantile_of_the_beta_distribution_is_the_known_one(probability, alpha, beta, quantile):
    assert beta_quantile(probability, alpha, beta) == pytest.approx(quantile, abs=1e-13)


@pytest.mark.parametrize("probability", [1e-6, 0.001, 0.005, 0.025, 0.05, 0.25, 0.5, 0.75, 0.975, 0.995, 0.999])
def test_quantiles_of_the_beta_distribution_are_those_of_scipy(probability):
    differences = {
        pair: abs(beta_quantile(probability, *pair) - betaincinv(*pair, probability))
        for pair in product(PARAMETERS, repeat=2)
    }
    assert {pair: difference for pair, difference in differences.items() if not difference <= 1e-9} == {}


@given(st.floats(0, 1, allow_subnormal=False), st.floats(1e-3, 1e5), st.floats(1e-3, 1e5))
def test_shares_of_the_beta_distribution_are_those_of_scipy(x, alpha, beta):
    assert beta_cdf(x, alpha, beta) == pytest.approx(betainc(alpha, beta, x), abs=1e-9)


def test_a_share_is_known_where_the_density_is_beyond_the_largest_number():
    assert beta_cdf(5e-324, 0.03125, 1.0) == pytest.approx(5e-324**0.03125, rel=1e-12)


def test_an_interval_of_a_success_rate_imports_no_scipy():
    program = "import sys; from atlas.memory.base import success_rates as rates; rates.lower_bound(7, 10); "
    program += "print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "atlas.core.statistics" in run.stdout.split()
    assert [name for name in run.stdout.split() if name.partition(".")[0] == "scipy"] == []
