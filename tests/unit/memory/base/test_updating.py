"""Success rates: the updaters against their definitions, replayed histories, and exact intervals."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.core.errors import InvalidInput
from atlas.memory.base.success_rates import (
    BayesianUpdater,
    EMASuccessUpdater,
    RecencyWeightedUpdater,
    SimpleAverageUpdater,
    lower_bound,
    replay,
)
from atlas.protocols.strategies import SuccessRateUpdater
from tests.support.memories import NOW

UPDATERS = [EMASuccessUpdater(), SimpleAverageUpdater(), BayesianUpdater(), RecencyWeightedUpdater()]
outcomes = st.lists(st.booleans(), min_size=1, max_size=40)


@dataclass
class Try:
    success: bool | None
    at: datetime


def after(updater, successes, rate=0.5):
    count = 0
    for success in successes:
        rate, count = updater.update(rate, count, success)
    return pytest.approx(rate), count


@pytest.mark.parametrize("updater", UPDATERS, ids=lambda updater: type(updater).__name__)
@given(successes=outcomes)
def test_every_updater_keeps_to_a_share_and_counts(updater, successes):
    assert isinstance(updater, SuccessRateUpdater)
    rate, count = 0.5, 0
    for n, success in enumerate(successes, start=1):
        before = rate
        rate, count = updater.update(rate, count, success)
        assert count == n
        assert 0 <= rate <= 1
        assert rate >= before - 1e-9 if success else rate <= before + 1e-9


def test_the_moving_average_is_the_specification_s():
    assert after(EMASuccessUpdater(), [True]) == (0.55, 1)
    assert after(EMASuccessUpdater(alpha=0.5), [True, False]) == (0.375, 2)


@given(outcomes)
def test_the_simple_average_is_the_share_of_successes(successes):
    assert after(SimpleAverageUpdater(), successes) == (sum(successes) / len(successes), len(successes))


def test_the_bayesian_rate_is_the_posterior_mean():
    assert after(BayesianUpdater(), [True, True, False]) == (0.6, 3)


@given(outcomes, st.floats(0.1, 20), st.floats(0.1, 20), st.floats(0, 1))
def test_the_bayesian_rate_follows_from_prior_and_counts_whatever_the_first_guess(successes, alpha, beta, guess):
    mean = (alpha + sum(successes)) / (alpha + beta + len(successes))
    assert after(BayesianUpdater(alpha, beta), successes, guess) == (mean, len(successes))


@given(outcomes, st.floats(0.5, 50))
def test_the_recency_weighted_rate_is_the_average_with_halving_weights(successes, half_life):
    weights = [2 ** (-age / half_life) for age in reversed(range(len(successes)))]
    mean = sum(w * s for w, s in zip(weights, successes, strict=True)) / sum(weights)
    assert after(RecencyWeightedUpdater(half_life), successes) == (mean, len(successes))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: EMASuccessUpdater(0), r"expected alpha in \(0, 1\]"),
        (lambda: EMASuccessUpdater(1.5), "alpha"),
        (lambda: BayesianUpdater(0, 1), "expected positive, finite numbers for .*, got 0 and 1"),
        (lambda: BayesianUpdater(float("inf"), 1), "finite numbers for .*, got inf and 1"),
        (lambda: BayesianUpdater(1, float("nan")), "finite numbers for .*, got 1 and nan"),
        (lambda: EMASuccessUpdater(True), r"in \(0, 1\], got True"),
        (lambda: EMASuccessUpdater("0.1"), r"in \(0, 1\], got '0.1'"),
        (lambda: RecencyWeightedUpdater(None), "number of outcomes for half_life, got None"),
        (lambda: RecencyWeightedUpdater(0), "half_life"),
    ],
)
def test_what_makes_no_sense_is_refused(make, said):
    with pytest.raises(InvalidInput, match=said):
        make()


def test_a_replay_goes_through_the_outcomes_in_the_order_of_their_time():
    tries = [Try(n % 3 > 0, NOW + timedelta(hours=n)) for n in range(6)]
    shuffled = random.Random(1).sample(tries, len(tries))
    points = replay(BayesianUpdater(), shuffled)
    assert [point.at for point in points] == [a_try.at for a_try in tries]
    assert [point.success for point in points] == [False, True, True, False, True, True]
    assert [point.count for point in points] == [1, 2, 3, 4, 5, 6]
    assert points[-1].rate == pytest.approx(5 / 8)


def test_an_unknown_outcome_changes_no_rate():
    tries = [Try(True, NOW), Try(None, NOW + timedelta(hours=1)), Try(False, NOW + timedelta(hours=2))]
    assert [(point.success, point.count) for point in replay(SimpleAverageUpdater(), tries)] == [(True, 1), (False, 2)]
    assert replay(SimpleAverageUpdater(), []) == []


def test_the_same_share_counts_for_more_with_more_tries():
    assert lower_bound(1, 1) < lower_bound(9, 10) < lower_bound(90, 100)
