"""The verdict on searches in one sentence, what a stricter search changes, and tasks with memory and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

import atlas
from atlas.core.statistics import Estimate, Interval
from atlas.evaluation.foreign import BUNDLED_QUERIES, ForeignResult, StrictnessStep
from atlas.evaluation.job import evaluate_now
from atlas.evaluation.judged import MissedQueries
from atlas.evaluation.metrics import EMPTY_SHARE
from atlas.evaluation.report import OwnEvaluation
from atlas.evaluation.tasks import AGENT, FUSED_ROW
from atlas.testing import HashEmbedder
from atlas.views.charts.split import split_bar
from atlas.views.curate.attention import search_row
from atlas.views.evaluation.own import simpler_searches
from atlas.views.evaluation.strictness import COLOURS, OFF_TOPIC_ANSWERED, OWN_RIGHT
from atlas.views.evaluation.verdict import (
    LESS_STRICT,
    STRICTER,
    TradeOff,
    figures,
    nearby_sentence,
    stricter,
    trade_off,
    verdict,
)
from atlas.views.lists.cells import GOOD, POOR
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


def with_rates(found: OwnEvaluation, *, first: float, nothing: float, answered: float | None) -> OwnEvaluation:
    """The measurement with other figures of what an agent gets."""
    (task,) = found.report.tasks
    rates = {"hit@1": Estimate(mean=first, interval=None), EMPTY_SHARE: Estimate(mean=nothing, interval=None)}
    rows = tuple(replace(row, estimates={**row.estimates, **rates}) if row.name == AGENT else row for row in task.rows)
    told = {} if answered is None else {AGENT: Estimate(mean=answered, interval=None)}
    result = ForeignResult(asked_in="own", source=BUNDLED_QUERIES, n_queries=100, told_something=told)
    return replace(found, report=replace(found.report, tasks=(replace(task, rows=rows),), foreign=(result,)))


def without_steps(found: OwnEvaluation) -> OwnEvaluation:
    """The measurement without its answers at other strictness."""
    return replace(found, report=replace(found.report, strictness=()))


def values(found: OwnEvaluation, strictness: float) -> list[str]:
    return [figure.rate.text for figure in figures(found, strictness)]


OFTEN_RIGHT = "Search finds the right memory first for nearly all of the attempts that are looked up again"


@pytest.mark.parametrize(
    ("nothing", "answered", "headline", "finding", "advice"),
    [
        (
            0.0,
            0.64,
            f"{OFTEN_RIGHT}, and answers about two thirds of the off-topic questions.",
            "Search answers 64% of off-topic questions.",
            "",
        ),
        (
            0.5,
            0.02,
            f"{OFTEN_RIGHT}, finds nothing for half of the attempts, and answers hardly any of the off-topic "
            "questions.",
            "Search hides too much of what this store holds.",
            LESS_STRICT,
        ),
        (
            0.1,
            0.04,
            f"{OFTEN_RIGHT}, and answers hardly any of the off-topic questions.",
            "Keep strictness 1: search finds the right memories, and little that is off topic.",
            "",
        ),
        (
            0.5,
            0.64,
            f"{OFTEN_RIGHT}, finds nothing for half of the attempts, and answers about two thirds of the off-topic "
            "questions.",
            "Search cannot tell well what this store holds from what it does not.",
            "",
        ),
    ],
)
def test_the_headline_has_the_figures_and_the_finding_what_they_mean(
    measured, nothing, answered, headline, finding, advice
):
    found = without_steps(with_rates(measured, first=0.98, nothing=nothing, answered=answered))
    judged = verdict(found, 1.0)
    assert (judged.headline, judged.finding, judged.advice) == (headline, finding, advice)


def test_a_search_that_misses_much_is_to_be_compared_with_other_weights(measured):
    found = without_steps(with_rates(measured, first=0.4, nothing=0.0, answered=0.0))
    judged = verdict(found, 1.0)
    assert (judged.finding, judged.part) == ("Search often misses the right memory.", "Compare profiles")
    assert values(found, 1.0) == ["40%", "0%"]


def test_a_search_that_hides_much_says_how_much(measured):
    found = without_steps(with_rates(measured, first=0.6, nothing=0.25, answered=0.02))
    own, off_topic, hidden = figures(found, 1.0)
    assert (hidden.label, hidden.rate.text, hidden.counts) == ("Own attempts: nothing found", "25%", "3 of 12 attempts")
    assert [own.mark, off_topic.mark, hidden.mark] == ["", "", ""], "there are too few tasks to tell"
    assert len(figures(without_steps(with_rates(measured, first=0.6, nothing=0.2, answered=0.02)), 1.0)) == 2


def test_every_figure_has_its_counts_and_a_range_that_no_rate_of_zero_narrows_to_nothing(measured):
    found = without_steps(with_rates(measured, first=0.98, nothing=0.0, answered=0.64))
    assert [figure.interval for figure in figures(found, 1.0)] == ["too few to tell"] * 2
    (task,), (asked,) = found.report.tasks, found.report.foreign
    rates = {
        "hit@1": Estimate(mean=0.975, interval=Interval(0.96, 0.99)),
        EMPTY_SHARE: Estimate(mean=0.0, interval=Interval(0.0, 0.0)),
    }
    rows = tuple(replace(row, estimates={**row.estimates, **rates}) if row.name == AGENT else row for row in task.rows)
    asked = replace(asked, n_queries=200, told_something={AGENT: Estimate(mean=1.0, interval=Interval(1.0, 1.0))})
    task = replace(task, rows=rows, n_queries=222, n_groups=90, n_records=400)
    report = replace(found.report, tasks=(task,), foreign=(asked,))
    own, off_topic = figures(replace(found, report=report), 1.0)
    assert (own.counts, own.interval, own.mark) == ("216 of 222 attempts", "96–99%", GOOD)
    assert own.facts == ("222 of 400: those at tasks tried more than once",)
    assert (own.by_keywords, off_topic.by_keywords) == ("100%", ""), "no search by words was asked these questions"
    assert (off_topic.counts, off_topic.interval, off_topic.mark) == ("200 of 200 questions", "98–100%", POOR)
    assert off_topic.note == "About other subjects; lower is better"
    colours = [figure.rate.colour for figure in (own, off_topic)]
    assert colours == [COLOURS[name] for name in (OWN_RIGHT, OFF_TOPIC_ANSWERED)], "as in the chart"


def test_what_agents_are_given_is_told_only_at_the_strictness_at_which_it_was_measured(measured):
    found = with_steps(measured, *STEPS)
    missed = MissedQueries(strictness=1.0, n_judged=20, n_missed=0, worst=())
    told = replace(found, report=replace(found.report, missed=missed))
    assert [figure.given for figure in figures(told, 1.0)] == ["100%", "", ""]
    assert [figure.given for figure in figures(told, 1.8)] == ["", "", ""]
    older = replace(found, report=replace(found.report, missed=None))
    assert [figure.given for figure in figures(older, 1.0)] == ["", "", ""]


def test_simpler_searches_differ_only_where_their_interval_leaves_no_doubt(measured):
    found = with_rates(measured, first=0.98, nothing=0.0, answered=0.64)
    (task,) = found.report.tasks
    gains = {
        "BM25": {"hit@1": Estimate(mean=0.06, interval=Interval(0.02, 0.1))},
        "dense": {"hit@1": Estimate(mean=0.01, interval=Interval(-0.01, 0.03))},
    }
    rows = tuple(replace(row, differences=gains) if row.name == FUSED_ROW else row for row in task.rows)
    found = replace(found, report=replace(found.report, tasks=(replace(task, rows=rows),), strictness=()))
    assert [(row.name, row.difference, row.off_topic) for row in simpler_searches(found, 1.0)] == [
        ("As an agent gets it", "", "64%"),
        ("Keyword search", "6\xa0points less (likely 2–10)", ""),
        ("Semantic search", "no clear difference", ""),
        ("By chance", "", ""),
    ]


def test_what_was_not_measured_is_not_judged(measured):
    found = without_steps(with_rates(measured, first=0.98, nothing=0.0, answered=None))
    assert verdict(found, 1.0).headline == f"{OFTEN_RIGHT}."
    assert verdict(replace(found, report=replace(found.report, tasks=())), 1.0) is None


def step(
    strictness: float, first: float, answered: float, nothing: float = 0.0, judged: float = 0.9, n_judged: int = 20
) -> StrictnessStep:
    rates = {"first_right": first, "found_nothing": nothing, "foreign_answered": answered, "judged_right": judged}
    return StrictnessStep(
        strictness=strictness,
        **{name: Estimate(mean=rate, interval=None) for name, rate in rates.items()},
        n_judged=n_judged,
    )


STEPS = (step(1.0, 0.98, 0.65), step(1.5, 0.98, 0.3), step(1.8, 0.97, 0.14), step(1.9, 0.97, 0.14), step(2.0, 0.9, 0.0))


def with_steps(found: OwnEvaluation, *steps: StrictnessStep) -> OwnEvaluation:
    """The measurement with its answers at other strictness."""
    found = with_rates(found, first=0.98, nothing=0.0, answered=0.65)
    return replace(found, report=replace(found.report, strictness=steps))


def test_the_advised_strictness_hides_hardly_a_right_first_hit(measured):
    found = with_steps(measured, *STEPS)
    better = stricter(found, 1.0)
    assert (better.strictness, better.off_topic, better.first_right) == (1.8, "65% → 14%", "98% → 97%")
    row = search_row(found, 1.0)
    assert (row.what, row.detail) == (
        "Search answers too many off-topic questions",
        "Stricter: 65% → 14% of them, 90% → 90% of judged queries right",
    )
    assert (row.action, row.page) == ("Adjust", "evaluation")
    assert row.parameters == {}


def test_no_stricter_search_is_advised_that_hides_what_was_judged_right(measured):
    loses = with_steps(measured, STEPS[0], step(1.8, 0.97, 0.14, judged=0.3))
    assert stricter(loses, 1.0) is None
    assert (
        verdict(loses, 1.0).finding == "Keep strictness 1: any stricter search would lose right hits of judged queries."
    )
    assert trade_off(loses, 1.0) == TradeOff(
        strictness=1.8,
        sentence="At 1.8, off-topic answers would fall to 14%, and 12 more of 20 judged queries would be wrong.",
    )
    assert search_row(loses, 1.0) is None, "too few questions to tell"
    poor = replace(STEPS[0], foreign_answered=Estimate(mean=0.65, interval=Interval(0.58, 0.71)))
    row = search_row(with_steps(measured, poor, step(1.8, 0.97, 0.14, judged=0.3)), 1.0)
    assert (row.what, row.detail, row.severity, row.page) == (
        "Search answers 65% of off-topic questions",
        "At 1.8, off-topic answers would fall to 14%, and 12 more of 20 judged queries would be wrong",
        "routine",
        "evaluation",
    )
    keeps_some = with_steps(measured, STEPS[0], step(1.5, 0.98, 0.3), step(1.8, 0.97, 0.14, judged=0.3))
    assert stricter(keeps_some, 1.0).strictness == 1.5


def test_a_search_that_misses_judged_queries_is_not_said_to_find_the_right_memories(measured):
    found = with_steps(measured, step(1.0, 0.98, 0.65, judged=0.51), step(1.8, 0.97, 0.14, judged=0.27))
    judged = verdict(found, 1.0)
    assert judged.finding == (
        "Keep strictness 1: any stricter search would lose right hits of judged queries. "
        "To find more, compare profiles, or choose another embedding model in Settings."
    )
    assert judged.headline == (
        "Search finds the right memory first for half of the judged queries, and answers two thirds of the off-topic "
        "questions."
    )

    precise = with_steps(measured, step(1.0, 0.98, 0.05, judged=0.3))
    assert verdict(precise, 1.0).finding == "Search often misses what was judged right."


def test_a_strictness_is_the_strictest_without_a_loss_only_if_no_other_finds_more_and_each_stricter_one_less(measured):
    here, beyond = step(1.0, 0.98, 0.65, judged=0.5), step(1.8, 0.97, 0.14, judged=0.3)
    loses_already = with_steps(measured, step(0.5, 0.98, 0.9, judged=0.6), here, beyond)
    loses_later = with_steps(measured, here, step(1.1, 0.98, 0.63, judged=0.5), beyond)
    for found, strictness in ((loses_already, 1.0), (loses_later, 1.0), (with_steps(measured, here, beyond), 1.05)):
        assert verdict(found, strictness).finding.startswith(f"Keep strictness {strictness:g}: each search that")
    stricter_hardly = with_steps(measured, here, step(1.1, 0.98, 0.62, judged=0.4))
    assert verdict(stricter_hardly, 1.0).finding.startswith("Keep strictness 1: no stricter search")


@pytest.mark.parametrize(("n_judged", "queries"), [(0, "20 queries"), (19, "1 more")])
def test_with_few_judged_queries_the_advice_is_to_judge_more(measured, n_judged, queries):
    """Own attempts repeat their task's words, so they do not show what a stricter search hides."""
    found = with_steps(measured, *(replace(each, n_judged=n_judged) for each in STEPS))
    assert stricter(found, 1.0) is None
    judged = verdict(found, 1.0)
    assert judged.headline == f"{OFTEN_RIGHT}, and answers two thirds of the off-topic questions."
    assert trade_off(found, 1.0) is None
    assert judged.finding == "Search answers 65% of off-topic questions."
    assert judged.advice == f"Judge {queries} to learn whether it should be stricter."
    row = search_row(found, 1.0)
    assert (row.severity, row.detail, row.parameters) == (
        "routine", judged.advice.rstrip("."), {"evaluation_tab": "Judged queries"}
    )  # fmt: skip


def test_at_the_advised_strictness_nothing_is_advised_and_its_figures_are_shown(measured):
    found = with_steps(measured, *STEPS)
    assert stricter(found, 1.8) is None
    assert search_row(found, 1.8) is None
    assert verdict(found, 1.8).finding == (
        "Keep strictness 1.8: each search that answers clearly fewer off-topic questions hides too much."
    )
    assert trade_off(found, 1.8).sentence == (
        "At 2, off-topic answers would fall to 0%, and 1 more of 12 own attempts would be wrong."
    )
    assert trade_off(found, 1.0) is None, "a stricter search is advised"
    assert values(found, 1.8) == ["97%", "90%", "14%"]


def test_the_table_of_searches_tells_the_same_of_the_present_strictness_as_the_figures(measured):
    found = with_steps(measured, *STEPS)
    row, *others = simpler_searches(found, 1.8)
    assert (row.rate.text, row.off_topic) == ("97%", "14%")
    assert values(found, 1.8) == ["97%", "90%", "14%"]
    assert others == simpler_searches(found, 1.0)[1:]


def test_a_strictness_between_the_measured_ones_is_judged_by_the_nearest(measured):
    found = with_steps(measured, *STEPS)
    finding = "Search answers too many off-topic questions."
    assert (verdict(found, 1.25).finding, verdict(found, 1.3).advice) == (finding, STRICTER)
    assert (stricter(found, 1.2).strictness, search_row(found, 1.3).detail) == (
        1.8,
        "Stricter: 30% → 14% of them, 90% → 90% of judged queries right",
    )
    assert values(found, 1.4) == ["98%", "90%", "30%"]
    assert nearby_sentence(found, 1.4) == "The figures are of strictness 1.5, the nearest one that was measured."
    assert nearby_sentence(found, 1.5) == ""


def test_beyond_the_measured_strictness_the_strictest_tells(measured):
    found = with_steps(measured, *STEPS)
    finding = "Keep strictness 3.5: search finds the right memories, and little that is off topic."
    assert verdict(found, 3.5).finding == finding
    assert nearby_sentence(found, 3.5).startswith("The figures are of strictness 2,")


def test_nothing_stricter_is_offered_where_search_hides_much_or_would(measured):
    hides = with_steps(measured, step(1.0, 0.6, 0.5, nothing=0.25), step(1.5, 0.6, 0.1, nothing=0.25))
    assert verdict(hides, 1.0).finding == "Search cannot tell well what this store holds from what it does not."
    assert stricter(hides, 1.0) is None
    steps = step(1.0, 0.8, 0.5, nothing=0.15), step(1.2, 0.8, 0.3, nothing=0.2), step(1.5, 0.8, 0.0, nothing=0.35)
    would_hide = with_steps(measured, *steps)
    assert stricter(would_hide, 1.0).strictness == 1.2
    assert trade_off(would_hide, 1.2).sentence == (
        "At 1.5, off-topic answers would fall to 0%, and nothing would be found for 35% of attempts."
    )
    assert stricter(with_steps(measured, steps[0], steps[2]), 1.0) is None


def test_a_gain_that_is_hardly_one_is_not_advised(measured):
    assert stricter(with_steps(measured, step(1.0, 0.98, 0.65), step(1.1, 0.98, 0.62)), 1.0) is None
    assert stricter(with_steps(measured, step(1.0, 0.98, 0.08), step(1.1, 0.98, 0.0)), 1.0) is None


def test_the_parts_count_the_tasks_that_were_tried_both_ways(memory):
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
    view = effect_view(memory)
    assert view.comparison == "On average, 0% succeeded without memory and 50% with it, at 1 task tried both ways."
    assert [(part.words, part.n) for part in view.parts] == [("better at 1", 1), ("equal at 0", 0), ("worse at 0", 0)]
    bar, words = split_bar(view.parts).split("</div>", 1)
    assert (bar.count("<span"), words.count("■")) == (1, 3)  # what is empty has words only
