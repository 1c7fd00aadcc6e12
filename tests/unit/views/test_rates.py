"""Success rates and their intervals."""

from __future__ import annotations

import pytest

from atlas.core.statistics import SuccessRate
from atlas.views.shared.rates import interval_text, rate_text
from atlas.views.shared.wording import share_in_words


def test_unknown_outcomes_are_in_no_rate():
    rate = SuccessRate.of({"succeeded": 3, "failed": 1, "unknown": 96})
    assert (rate.n, rate.n_known, rate.share, rate_text(rate)) == (100, 4, 0.75, "75%")


def test_a_rate_of_nothing_is_a_dash():
    rate = SuccessRate.of({"unknown": 2})
    assert (rate.share, rate.interval, rate_text(rate), interval_text(rate)) == (None, None, "–", "")


def test_the_interval_reads_as_a_range():
    assert interval_text(SuccessRate.of({"succeeded": 5, "failed": 5})) == "23–77%"


def test_a_half_is_rounded_up_as_browsers_do():
    assert rate_text(SuccessRate.of({"succeeded": 1, "failed": 7})) == "13%"


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "none"),
        (0.04, "hardly any"),
        (0.05, "a twentieth"),
        (0.325, "a third"),
        (0.51, "half"),
        (0.54, "about half"),
        (0.645, "two thirds"),
        (0.95, "nineteen twentieths"),
        (0.98, "nearly all"),
        (1.0, "all"),
    ],
)
def test_a_share_in_words_is_the_nearest_simple_fraction(share: float, words: str):
    assert share_in_words(share) == words
