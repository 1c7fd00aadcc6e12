"""The chart of the success rate over time, and the sentence on it."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from atlas.core.statistics import rates_by_day
from atlas.views.charts.trend import has_trend, trend_caption, trend_chart, trend_sentence, trend_verdict


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


@pytest.mark.parametrize("wrong", ["0001-01-01", "1970-01-01"])
def test_an_attempt_of_a_wrong_clock_does_not_stretch_the_chart_and_counts_in_the_sentence(wrong: str):
    days = (*rates_by_day({wrong: {"failed": 1}}), *days_of(100, succeeded=1))
    bars = trend_chart(days)["data"][0]
    assert (bars["x"][0], len(bars["x"]), sum(bars["y"])) == ("2023-01-02", 15, 100)
    assert trend_sentence(days) == (
        "By week: 100% of 23 succeeded since 20 Mar 2023, 99% of 78 before. The chart leaves out 1 earlier attempt."
    )
    assert trend_caption(days).startswith("Success rate from 2 Jan 2023 to 11 Apr 2023. ")


def test_early_attempts_that_are_many_or_not_far_away_are_drawn():
    early = rates_by_day({"1970-01-01": {"failed": 2}})
    bars = trend_chart((*early, *days_of(100, succeeded=1)))["data"][0]
    assert (bars["x"][0], len(bars["x"])) == ("1970-01-01", 54)
    near = rates_by_day({"2022-12-20": {"failed": 1}})
    bars = trend_chart((*near, *days_of(14, succeeded=3)))["data"][0]
    assert sum(bars["y"]) == 43


@pytest.mark.parametrize(
    ("before", "last", "verdict"),
    [
        ((20, 80), (80, 20), "Yes: +60\xa0points since 6 Jan 2023, likely +47 to +70\xa0points."),
        ((50, 50), (60, 40), "Probably: +10\xa0points since 6 Jan 2023, likely −5 to +24\xa0points."),
        ((48, 52), (52, 48), "Not clear yet: +4\xa0points since 6 Jan 2023, likely −10 to +18\xa0points."),
        ((60, 40), (50, 50), "It probably got worse: −10\xa0points since 6 Jan 2023, likely −24 to +5\xa0points."),
        ((80, 20), (20, 80), "It got worse: −60\xa0points since 6 Jan 2023, likely −70 to −47\xa0points."),
    ],
)
def test_the_verdict_claims_no_more_than_the_interval_of_the_difference(before, last, verdict):
    days = [
        days_of(4, first, succeeded=succeeded // 4, failed=failed // 4)
        for first, (succeeded, failed) in ((date(2023, 1, 2), before), (date(2023, 1, 6), last))
    ]
    assert trend_verdict((*days[0], *days[1])) == verdict
    assert trend_verdict(days[1]) == ""


def test_the_first_the_last_and_the_lowest_rate_are_labelled_and_a_last_bar_without_a_rate_says_why():
    shares = {"2026-01-01": 6, "2026-01-02": 3, "2026-01-03": 7, "2026-01-04": 8}
    days = rates_by_day(
        {day: {"succeeded": n, "failed": 10 - n} for day, n in shares.items()} | {"2026-01-05": {"succeeded": 2}}
    )
    bars, _, _, rates = trend_chart(days)["data"]
    assert rates["text"] == ["60%", "30%", "", "80%"]
    assert rates["textposition"] == ["top right", "bottom center", "top center", "top center"]
    assert bars["text"] == ["10", "10", "10", "10", "too few<br>2"]


def test_the_sentence_compares_the_last_four_periods_with_those_before():
    days = (*days_of(4, failed=1), *days_of(4, date(2023, 1, 6), succeeded=3, failed=1))
    assert trend_sentence(days) == "By day: 75% of 16 succeeded since 6 Jan 2023, 0% of 4 before."
    assert trend_sentence(days[4:]) == "By day: 75% of 16 succeeded."
    assert trend_caption(days) == (
        f"Success rate from 2 Jan 2023 to 9 Jan 2023. {trend_verdict(days)} {trend_sentence(days)}"
    )


def test_there_is_no_trend_in_one_period():
    assert not has_trend(())
    assert not has_trend(days_of(1, succeeded=9))
    assert not has_trend(days_of(2, succeeded=4))
    assert has_trend(days_of(2, succeeded=5))
