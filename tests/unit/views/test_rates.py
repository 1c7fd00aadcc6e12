"""Success rates and their intervals."""

from __future__ import annotations

import pytest

from atlas.analysis.statistics import SuccessRate, wilson_interval
from atlas.views.rates import interval_text, rate_text


@pytest.mark.parametrize(
    ("n_succeeded", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (366, 590, 0.5806, 0.6586)],
)
def test_the_interval_is_wilsons(n_succeeded, n, low, high):
    interval = wilson_interval(n_succeeded, n)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-4)


def test_unknown_outcomes_are_in_no_rate():
    rate = SuccessRate.of({"succeeded": 3, "failed": 1, "unknown": 96})
    assert (rate.n, rate.n_known, rate.share, rate_text(rate)) == (100, 4, 0.75, "75 %")


def test_a_rate_of_nothing_is_a_dash():
    rate = SuccessRate.of({"unknown": 2})
    assert (rate.share, rate.interval, rate_text(rate), interval_text(rate)) == (None, None, "–", "")


def test_the_interval_reads_as_a_range():
    assert interval_text(SuccessRate.of({"succeeded": 5, "failed": 5})) == "24–76 %"
