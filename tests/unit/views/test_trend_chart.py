"""The chart of the success rate over time, and the sentence on it."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from atlas.core.statistics import rates_by_day
from atlas.views.charts.trend import has_trend, trend_caption, trend_chart, trend_sentence


def days_of(n_days: int, first: date = date(2023, 1, 2), **outcomes: int):
    """Return equal days, one after the other."""
    return rates_by_day({str(first + timedelta(days=n)): outcomes for n in range(n_days)})


def test_a_point_stands_for_each_week_of_enough_known_outcomes_and_a_bar_for_each_week():
    days = rates_by_day(
        {
            "2026-01-05": {"succeeded": 3, "failed": 3},
            "2026-01-13": {"succeeded": 4, "unknown": 9},
            "2026-01-26": {"succeeded": 9, "failed": 1},
        }
    )
    bars, _, _, rates = trend_chart(days)["data"]
    assert dict(zip(bars["x"], bars["y"], strict=True)) == {
        "2026-01-05": 6, "2026-01-12": 13, "2026-01-19": 0, "2026-01-26": 10,
    }  # fmt: skip
    assert dict(zip(rates["x"], rates["y"], strict=True)) == {"2026-01-05": 0.5, "2026-01-26": 0.9}
    assert rates["text"] == ["50%", "90%"]
    assert rates["customdata"][1] == "90% (likely 60–98%, n = 10)"


@pytest.mark.parametrize(("n_days", "span", "n_bars"), [(14, "day", 14), (300, "week", 43), (1200, "month", 40)])
def test_a_long_time_is_shown_by_week_or_month_without_losing_an_attempt(n_days: int, span: str, n_bars: int):
    days = days_of(n_days, succeeded=1)
    bars = trend_chart(days)["data"][0]
    assert (len(bars["x"]), sum(bars["y"])) == (n_bars, n_days)
    assert trend_sentence(days).startswith(f"By {span}: 100% of ")


def test_a_zero_time_among_the_attempts_gives_a_chart_by_year_that_has_every_year():
    days = rates_by_day({"0001-01-01": {"failed": 1}, "2026-03-01": {"succeeded": 1}, "2026-05-01": {"succeeded": 2}})
    bars = trend_chart(days)["data"][0]
    assert (bars["x"][0], bars["x"][-1]) == ("0001-01-01", "2026-01-01")
    assert (len(bars["y"]), bars["y"][-1]) == (2026, 3)
    assert not has_trend(days)


def test_the_sentence_compares_the_last_four_periods_with_those_before():
    days = (*days_of(4, failed=1), *days_of(4, date(2023, 1, 6), succeeded=3, failed=1))
    assert trend_sentence(days) == "By day: 75% of 16 succeeded since 6 Jan 2023, 0% of 4 before."
    assert trend_sentence(days[4:]) == "By day: 75% of 16 succeeded."
    assert trend_caption(days) == f"Success rate from 2 Jan 2023 to 9 Jan 2023. {trend_sentence(days)}"


def test_there_is_no_trend_in_one_period():
    assert not has_trend(())
    assert not has_trend(days_of(1, succeeded=9))
    assert not has_trend(days_of(2, succeeded=4))
    assert has_trend(days_of(2, succeeded=5))
