"""The chart of the success rate over time, and the sentence on it."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta

import pytest

import atlas
from atlas.core.statistics import rates_by_day
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.charts.periods import timeline
from atlas.views.charts.trend import (
    Comparison,
    Trend,
    is_drawn,
    side_of,
    trend_caption,
    trend_chart,
    trend_sentence,
    trend_verdict,
)
from atlas.views.overview.trend import trend_of
from tests.support.records import attempt

TODAY = date(2026, 11, 30)


def days_of(n_days: int, first: date = date(2023, 1, 2), **outcomes: int):
    """Return equal days, one after the other."""
    return rates_by_day({str(first + timedelta(days=n)): outcomes for n in range(n_days)})


def shown(days) -> Trend:
    """Return the trend of days without a comparison."""
    return Trend(line=timeline(days, TODAY))


def verdict_of(last, before) -> str:
    """Return the verdict on two sides, each of the outcomes of its attempts and their tasks."""
    comparison = Comparison(since=date(2023, 1, 6), latest=side_of(*last), earlier=side_of(*before))
    return trend_verdict(Trend(line=timeline(days_of(8, succeeded=9), date(2023, 1, 9)), comparison=comparison))


def alone(n_succeeded: int, n_failed: int):
    """Return the outcomes of attempts at as many tasks."""
    return [True] * n_succeeded + [False] * n_failed, [str(n) for n in range(n_succeeded + n_failed)]


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as made:
        yield made


def stored_trend(memory, outcomes) -> Trend | None:
    """Return the trend of stored attempts: for each day, the outcome of each, all at tasks of their own."""
    memory.experience.store_many(
        [
            attempt(f"{day} {n}", success, at=datetime.combine(day, time(12), UTC))
            for day, successes in outcomes.items()
            for n, success in enumerate(successes)
        ]
    )
    return trend_of(memory, rates_by_day(memory.experience.counts_by_day()), TODAY)


def test_a_point_stands_for_each_week_of_enough_known_outcomes_and_a_bar_counts_them_for_each():
    days = rates_by_day(
        {
            "2026-01-05": {"succeeded": 3, "failed": 3},
            "2026-01-13": {"succeeded": 4, "unknown": 9},
            "2026-01-26": {"succeeded": 9, "failed": 1},
        }
    )
    bars, _, _, rates = trend_chart(shown(days))["data"]
    assert dict(zip(bars["x"], bars["y"], strict=True)) == {
        "2026-01-05": 6, "2026-01-12": 4, "2026-01-19": 0, "2026-01-26": 10,
    }  # fmt: skip
    assert dict(zip(rates["x"], rates["y"], strict=True)) == {"2026-01-05": 0.5, "2026-01-26": 0.9}
    assert rates["text"] == ["50%", "90%"]
    assert rates["customdata"][1] == "90% (likely 59–98%, n = 10)"


@pytest.mark.parametrize(("n_days", "span", "n_bars"), [(14, "day", 14), (300, "week", 43), (1200, "month", 40)])
def test_a_long_time_is_shown_by_week_or_month_without_losing_an_attempt(n_days: int, span: str, n_bars: int):
    days = days_of(n_days, succeeded=1)
    bars = trend_chart(shown(days))["data"][0]
    assert (len(bars["x"]), sum(bars["y"])) == (n_bars, n_days)
    assert trend_sentence(shown(days)).startswith(f"By {span}: 100% of ")


@pytest.mark.parametrize(
    ("wrong", "left_out"),
    [
        ({"0001-01-01": 1}, "1 earlier attempt"),
        ({"1970-01-01": 1}, "1 earlier attempt"),
        ({"2099-01-01": 1}, "1 attempt dated after today"),
        ({"1970-01-01": 1, "2026-12-01": 1, "2099-01-01": 1}, "1 earlier attempt and 2 dated after today"),
    ],
)
def test_an_attempt_of_a_wrong_clock_does_not_stretch_the_chart_and_is_counted_as_left_out(wrong, left_out):
    days = rates_by_day({str(day.on): {"succeeded": 2} for day in days_of(100, succeeded=1)}
                        | {day: {"failed": n} for day, n in wrong.items()})  # fmt: skip
    bars = trend_chart(shown(days))["data"][0]
    assert (bars["x"][0], len(bars["x"]), sum(bars["y"])) == ("2023-01-02", 15, 200)
    assert trend_sentence(shown(days)) == f"By week: 100% of 200 succeeded. This leaves out {left_out}."
    assert trend_caption(shown(days)).startswith("Success rate from 2 Jan 2023 to 11 Apr 2023. ")


def test_attempts_that_are_many_or_not_far_away_are_drawn():
    early = rates_by_day({"1970-01-01": {"failed": 2}})
    bars = trend_chart(shown((*early, *days_of(100, succeeded=1))))["data"][0]
    assert (bars["x"][0], len(bars["x"])) == ("1970-01-01", 54)
    near = rates_by_day({"2022-12-20": {"failed": 1}})
    bars = trend_chart(shown((*near, *days_of(14, succeeded=3))))["data"][0]
    assert sum(bars["y"]) == 43
    late = rates_by_day({"2026-12-02": {"failed": 2}})
    assert sum(trend_chart(shown((*days_of(100, succeeded=1), *late)))["data"][0]["y"]) == 102


@pytest.mark.parametrize("wrong", ["1970-01-01", "2099-01-01"])
def test_of_few_attempts_none_is_left_out(wrong: str):
    other = timeline(rates_by_day({wrong: {"failed": 1}, "2026-11-29": {"failed": 9}}), TODAY)
    assert (other.n_earlier, other.n_later, len(other.days)) == (0, 0, 2)
    other = timeline(rates_by_day({wrong: {"failed": 1}, "2026-11-29": {"failed": 10}}), TODAY)
    assert (other.n_earlier + other.n_later, len(other.days)) == (1, 1)


def test_a_clock_that_is_late_does_not_empty_the_chart():
    line = timeline(rates_by_day({"2026-12-01": {"failed": 30}, "2026-12-02": {"failed": 30}}), TODAY)
    assert (len(line.periods), line.n_later) == (2, 0)


@pytest.mark.parametrize(
    ("before", "last", "verdict"),
    [
        ((20, 80), (80, 20), "Yes: +60\xa0points in the last 4 days, likely +47 to +70\xa0points."),
        ((50, 50), (60, 40), "Not clear yet: +10\xa0points in the last 4 days, likely −4 to +24\xa0points."),
        ((80, 20), (20, 80), "It got worse: −60\xa0points in the last 4 days, likely −70 to −47\xa0points."),
        ((1_500, 1_500), (1_530, 1_472), "Not clear yet: +1\xa0points in the last 4 days, likely −2 to +4\xa0points."),
        ((0, 9), (90, 10), ""),
        ((90, 10), (0, 9), ""),
        ((0, 10), (10, 0), "Yes: +100\xa0points in the last 4 days, likely +56 to +100\xa0points."),
    ],
)
def test_the_verdict_claims_no_more_than_the_interval_of_the_difference(before, last, verdict):
    assert verdict_of(alone(*last), alone(*before)) == verdict


def test_a_difference_that_is_written_as_nothing_is_no_improvement():
    verdict = verdict_of(alone(50_000, 100), alone(49_900, 200))
    assert verdict.startswith("Not clear yet: +0\xa0points")


def test_the_difference_is_that_of_the_rates_before_they_are_rounded():
    verdict = verdict_of(alone(1_255, 745), alone(1_251, 749))  # 62.75% and 62.55%, written as 63% both
    assert "+0\xa0points" in verdict
    verdict = verdict_of(alone(126, 74), alone(124, 76))  # 63% and 62%
    assert "+1\xa0points" in verdict
    verdict = verdict_of(alone(1_272, 728), alone(1_248, 752))  # 63.6% and 62.4%, written as 64% and 62%
    assert "+1\xa0points" in verdict


@pytest.mark.parametrize("is_together", [True, False])
def test_repeated_attempts_at_tasks_that_did_not_change_are_not_clear_in_nineteen_of_twenty_stores(is_together):
    draw, answers = random.Random(1), Counter()
    for _ in range(300):
        sides = ([], []), ([], [])
        for task in range(100):
            rate, is_last = draw.betavariate(0.5, 0.5), draw.random() < 0.5
            for _ in range(4):
                successes, tasks = sides[is_last if is_together else draw.random() < 0.5]
                successes.append(draw.random() < rate)
                tasks.append(str(task))
        answers[verdict_of(sides[1], sides[0]).split(":")[0]] += 1
    assert answers["Not clear yet"] >= 0.93 * 300


def test_a_stored_trend_compares_by_tasks_and_marks_where_the_last_periods_begin(memory):
    days = [date(2026, 11, 2) + timedelta(days=n) for n in range(8)]
    outcomes = {day: [n >= 4] * 5 for n, day in enumerate(days)} | {days[7]: [True] * 5 + [None]}
    trend = stored_trend(memory, outcomes)
    assert trend_sentence(trend) == "By day: 100% of 20 succeeded since 6 Nov 2026, 0% of 20 before."
    assert trend_verdict(trend).startswith("Yes: +100\xa0points in the last 4 days of attempts, likely +7")
    layout = trend_chart(trend)["layout"]
    assert [note["text"] for note in layout["annotations"]] == ["outcomes", "last 4 days of attempts"]
    assert layout["xaxis"]["tickvals"] == ["2026-11-02", "2026-11-04", "2026-11-06", "2026-11-08"]
    assert layout["shapes"][0]["x0"] == "2026-11-05T12:00:00"
    (bars,) = trend_chart(shown(days_of(8, succeeded=9)))["layout"]["annotations"]
    assert (bars["text"], bars["yref"]) == ("outcomes", "y2")


@pytest.mark.parametrize(("n_days_ago", "when"), [(13, "last 4 weeks"), (14, "last 4 weeks of attempts")])
def test_the_last_weeks_are_named_as_such_until_a_week_without_attempts_has_passed(memory, n_days_ago, when):
    first = date(2026, 11, 2)
    made = [
        attempt(f"task {n}", n > 20, at=datetime.combine(first - timedelta(days=n), time(12), UTC)) for n in range(60)
    ]
    memory.experience.store_many(made)
    trend = trend_of(memory, rates_by_day(memory.experience.counts_by_day()), first + timedelta(days=n_days_ago))
    assert f"in the {when}, likely" in trend_verdict(trend)
    ticks = trend_chart(trend)["layout"]["xaxis"]["tickvals"]
    assert trend.comparison.since.isoformat() in ticks
    assert {*ticks} <= {period.on.isoformat() for period in trend.line.periods}


@pytest.mark.parametrize("task_id", ["same", ""])
def test_many_attempts_at_one_task_tell_little_with_or_without_an_id(memory, task_id):
    days = [date(2026, 11, 2) + timedelta(days=n) for n in range(8)]
    memory.experience.store_many(
        [attempt("Boil an egg", n >= 4, task_id=task_id, at=datetime.combine(day, time(12, k), UTC))
         for n, day in enumerate(days) for k in range(10)]
    )  # fmt: skip
    trend = trend_of(memory, rates_by_day(memory.experience.counts_by_day()), TODAY)
    assert trend_verdict(trend).startswith("Not clear yet: +100\xa0points")


def test_the_first_the_last_and_the_lowest_rate_are_labelled_and_a_last_bar_without_a_rate_says_why():
    shares = {"2026-01-01": 6, "2026-01-02": 3, "2026-01-03": 7, "2026-01-04": 8}
    days = rates_by_day(
        {day: {"succeeded": n, "failed": 10 - n} for day, n in shares.items()} | {"2026-01-05": {"succeeded": 2}}
    )
    bars, _, _, rates = trend_chart(shown(days))["data"]
    assert rates["text"] == ["60%", "30%", "", "80%"]
    assert rates["textposition"] == ["top right", "bottom center", "top center", "top center"]
    assert bars["text"] == ["10", "10", "10", "10", "too few<br>2"]


def test_the_sentence_has_no_comparison_without_periods_before(memory):
    days = [date(2026, 11, 2) + timedelta(days=n) for n in range(4)]
    trend = stored_trend(memory, {day: [True] * 5 for day in days})
    assert trend_sentence(trend) == "By day: 100% of 20 succeeded."
    assert trend_verdict(trend) == ""
    assert trend_caption(trend) == f"Success rate from 2 Nov 2026 to 5 Nov 2026. {trend_sentence(trend)}"


def test_there_is_no_trend_in_one_period(memory):
    assert trend_of(memory, (), TODAY) is None
    for days, is_enough in ((days_of(1, succeeded=9), False), (days_of(2, succeeded=4), False),
                            (days_of(2, succeeded=5), True)):  # fmt: skip
        assert is_drawn(timeline(days, TODAY)) == is_enough


def test_a_side_with_hardly_any_of_the_outcomes_is_not_judged():
    assert verdict_of(alone(380, 20), alone(1, 18)) == ""
    assert verdict_of(alone(380, 20), alone(1, 29)).startswith("Yes: ")
