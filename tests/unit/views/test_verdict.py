"""The verdict on searches in one sentence, and the success of each week with memory and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

import pytest

import atlas
from atlas.core.statistics import Estimate, Interval, SuccessRate
from atlas.evaluation.foreign import SHIPPED, ForeignResult
from atlas.evaluation.job import evaluate_now
from atlas.evaluation.metrics import FOUND_NOTHING
from atlas.evaluation.report import OwnEvaluation
from atlas.evaluation.tasks import AGENT, FUSED
from atlas.testing import HashEmbedder
from atlas.views.charts.trend import Week, trend_caption, trend_chart
from atlas.views.evaluation.own import simpler_searches
from atlas.views.evaluation.verdict import LESS_STRICT, STRICTER, figures, verdict
from atlas.views.overview.effect import effect_view
from tests.support.records import START, attempt


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        yield memory


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> OwnEvaluation:
    """A measurement on two attempts at each of six tasks."""
    with atlas.open_memory(tmp_path_factory.mktemp("measured") / "store", embedder=HashEmbedder()) as memory:
        memory.experience.store_many(
            attempt(f"Mend report {task} of customer {task * 37}", task_id=f"task-{task}", success=trial == 0)
            for task in range(6)
            for trial in range(2)
        )
        return evaluate_now(memory, seed=0, on_progress=lambda done, total, what: None)


def with_rates(found: OwnEvaluation, *, first: float, nothing: float, foreign: float | None) -> OwnEvaluation:
    """The measurement with other figures of what an agent gets."""
    (task,) = found.report.tasks
    rates = {"hit@1": Estimate(mean=first, interval=None), FOUND_NOTHING: Estimate(mean=nothing, interval=None)}
    rows = tuple(replace(row, estimates={**row.estimates, **rates}) if row.name == AGENT else row for row in task.rows)
    told = {} if foreign is None else {AGENT: Estimate(mean=foreign, interval=None)}
    result = ForeignResult(asked_in="own", source=SHIPPED, n_queries=100, told_something=told)
    return replace(found, report=replace(found.report, tasks=(replace(task, rows=rows),), foreign=(result,)))


@pytest.mark.parametrize(
    ("nothing", "foreign", "headline", "advice"),
    [
        (0.0, 0.64, "Search finds the right memories, but answers too many off-topic questions.", STRICTER),
        (0.5, 0.02, "Search hides too much of what this store holds.", LESS_STRICT),
        (0.1, 0.05, "Search finds the right memories. Nothing needs to change.", ""),
        (0.5, 0.64, "Search cannot tell well what this store holds from what it does not.", ""),
    ],
)
def test_the_verdict_is_one_sentence_with_what_to_do(measured, nothing, foreign, headline, advice):
    judged = verdict(with_rates(measured, first=0.98, nothing=nothing, foreign=foreign))
    link = ", but wrongly" if foreign > 0.1 else " and"
    assert judged.sentence == (
        f"Finds another attempt at the same task first in 98 % of searches{link} "
        f"answers {100 * foreign:.0f} % of off-topic questions."
    )
    assert (judged.headline, judged.advice) == (headline, advice)
    assert bool(judged.part) == bool(advice)


def test_a_search_that_misses_much_is_to_be_compared_with_other_weights(measured):
    found = with_rates(measured, first=0.4, nothing=0.0, foreign=0.0)
    judged = verdict(found)
    assert (judged.headline, judged.part) == ("Search often misses the right memory.", "Compare profiles")
    assert [figure.value for figure in figures(found)] == ["40 %", "0 %", "0 %"]
    assert [figure.value for figure in figures(None)] == ["–"] * 3


def test_every_figure_has_a_range_that_no_rate_of_zero_narrows_to_nothing(measured):
    found = with_rates(measured, first=0.98, nothing=0.0, foreign=0.64)
    assert [figure.interval for figure in figures(found)] == ["too few to tell"] * 3
    (task,), (asked,) = found.report.tasks, found.report.foreign
    rates = {
        "hit@1": Estimate(mean=0.98, interval=Interval(0.96, 0.99)),
        FOUND_NOTHING: Estimate(mean=0.0, interval=Interval(0.0, 0.0)),
    }
    rows = tuple(replace(row, estimates={**row.estimates, **rates}) if row.name == AGENT else row for row in task.rows)
    asked = replace(asked, told_something={AGENT: Estimate(mean=1.0, interval=Interval(1.0, 1.0))})
    report = replace(found.report, tasks=(replace(task, rows=rows, n_groups=90),), foreign=(asked,))
    ranges = [figure.interval for figure in figures(replace(found, report=report))]
    assert ranges == ["likely 96–99 %", "likely 0–4 %", "likely 96–100 %"]


def test_simpler_searches_differ_only_where_their_interval_leaves_no_doubt(measured):
    found = with_rates(measured, first=0.98, nothing=0.0, foreign=0.64)
    (task,) = found.report.tasks
    gains = {
        "BM25": {"hit@1": Estimate(mean=0.06, interval=Interval(0.02, 0.1))},
        "dense": {"hit@1": Estimate(mean=0.01, interval=Interval(-0.01, 0.03))},
    }
    rows = tuple(replace(row, differences=gains) if row.name == FUSED else row for row in task.rows)
    found = replace(found, report=replace(found.report, tasks=(replace(task, rows=rows),)))
    assert [(row.name, row.difference, row.off_topic) for row in simpler_searches(found)] == [
        ("As an agent gets it", "", "64 %"),
        ("Words alone", "6 points less", "up to 100 %"),
        ("Meaning alone", "no clear difference", "100 %"),
        ("By chance", "", ""),
    ]


def test_what_was_not_measured_is_not_judged(measured):
    found = with_rates(measured, first=0.98, nothing=0.0, foreign=None)
    assert verdict(found).sentence == "Finds another attempt at the same task first in 98 % of searches."
    assert verdict(replace(found, report=replace(found.report, tasks=()))) is None


def test_the_weeks_count_attempts_at_tasks_that_were_tried_both_ways(memory):
    (note,) = memory.experience.store_many([attempt("Keep the keys in the hall", at=START - timedelta(days=9))])
    for week, success in ((0, False), (1, True)):
        for has_used in (True, False):
            memory.store(
                attempt(
                    "Find the keys",
                    success if has_used else False,
                    task_id="keys",
                    agent=f"agent {week} {has_used}",
                    at=START + timedelta(weeks=week),
                    **({"used": {"experience": [note]}} if has_used else {}),
                )
            )
    memory.store(attempt("Something else"))
    none, one = SuccessRate(n_failed=1), SuccessRate(n_succeeded=1)
    assert effect_view(memory).weeks == (
        Week(date(2026, 2, 23), none, none),
        Week(date(2026, 3, 2), one, none),
    )


def test_the_trend_adds_up_the_attempts_of_all_weeks_so_far():
    weeks = (
        Week(date(2026, 2, 23), SuccessRate(n_succeeded=1, n_failed=3), SuccessRate()),
        Week(date(2026, 3, 2), SuccessRate(n_succeeded=3), SuccessRate(n_failed=2)),
    )
    *_, not_used, low, high, used = trend_chart(weeks)["data"]
    assert (used["x"], used["y"]) == (["2026-02-23", "2026-03-02"], [0.25, 4 / 7])
    assert all(below < rate < above for below, rate, above in zip(low["y"], used["y"], high["y"], strict=True))
    assert (not_used["x"], not_used["y"], not_used["text"]) == (["2026-03-02"], [0.0], ["0 of 2"])
    assert "In the end 57 % (likely 25–84 %, n = 7) with memory, and 0 % (likely 0–66 %, n = 2)" in trend_caption(weeks)


def test_lines_of_the_trend_that_end_together_are_named_apart():
    def names(n_succeeded: int) -> dict[str, int]:
        week = Week(
            date(2026, 3, 2), SuccessRate(n_succeeded=n_succeeded, n_failed=5), SuccessRate(n_succeeded=5, n_failed=5)
        )
        return {note["text"]: note["yshift"] for note in trend_chart([week])["layout"]["annotations"]}

    assert names(5) == {"With memory": -8, "Without": 8}
    assert names(50) == {"Without": 0, "With memory": 0}
