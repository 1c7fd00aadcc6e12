"""The strictness as a page shows it: both curves, the change in words, and the queries that change."""

from __future__ import annotations

import re

import pytest

from atlas.core.ranking.level import LevelCosts
from atlas.memory.base.strictness import ChangedQuery, StrictnessPlan
from atlas.memory.loss import LostRecord
from atlas.views.evaluation.strictness import (
    COLOURS,
    NOTHING_FOUND,
    OFF_TOPIC_ANSWERED,
    change_line,
    change_rows,
    cost_lines,
    curves_chart,
    loss_sentences,
    plan_sentence,
    strictness_caption,
)

LOST = ChangedQuery(query="cancel a flight", best="refund a ticket", relevance=0.312, n_before=2, n_after=0)
FEWER = ChangedQuery(query="change a seat", best="upgrade a seat", relevance=0.7, n_before=5, n_after=3)


def _plan(
    *changed: ChangedQuery, after: float = 2.0, n_tasks: int = 31, lost: tuple[LostRecord, ...] = ()
) -> StrictnessPlan:
    return StrictnessPlan(
        before=1.0,
        after=after,
        costs={},
        n_queries=40,
        n_tasks=n_tasks,
        lost=lost,
        n_in_hits=9,
        n_lost_from_hits=3,
        changed=changed,
    )


def test_the_change_is_told_by_what_becomes_of_queries():
    assert plan_sentence(_plan(LOST, FEWER)) == (
        "Strictness 1 (as measured) → 2. Of 40 queries of this store, 1 would find nothing any more, 0 would find "
        "something again, 1 would find more or less."
    )


def test_the_loss_is_that_of_other_plans():
    lost = LostRecord(id="a", title="refund a ticket", tasks=("cancel a flight", "cancel a trip"))
    assert loss_sentences(_plan(lost=(lost,)))[0] == "2 of 31 tasks lose their best record:"
    assert loss_sentences(_plan()) == (
        "0 of 31 tasks lose their best record.",
        "Right attempts lost from hits: 3 of 9. Attempts in the query's own words do not count.",
    )
    assert loss_sentences(_plan(n_tasks=0))[0] == "No task to replay."


def test_no_change_is_told_as_the_strictness_that_holds():
    assert plan_sentence(_plan(after=1.0)) == "Strictness is 1 (as measured)."


def test_a_query_without_hits_says_so_in_the_table():
    [row] = change_rows([LOST])
    assert (row.before, row.after, row.relevance) == ("2 hits", "nothing", 0.31)
    assert change_line(LOST) == "2 → 0 hits: cancel a flight"


def test_both_curves_stand_over_the_strictness():
    curves = {NOTHING_FOUND: {0.5: 0.0, 1.0: 0.1}, OFF_TOPIC_ANSWERED: {0.5: 0.4, 1.0: 0.03}}
    chart = curves_chart(curves, 1.0, 0.5)
    assert [curve["y"] for curve in chart["data"]] == [[0.0, 0.1], [0.4, 0.03]]
    assert [line["x0"] for line in chart["layout"]["shapes"]] == [1.0, 0.5]
    notes = [note["text"] for note in chart["layout"]["annotations"]]
    texts = [re.sub("<span.*?> ", "", note) for note in notes]
    assert [COLOURS[name] in note for name, note in zip(curves, notes[-2:], strict=True)] == [True, True]
    assert texts == ["now: 1", "10%", "3%", "0.5", "0%", "40%", NOTHING_FOUND, OFF_TOPIC_ANSWERED]
    assert [curve["name"] for curve in chart["data"]] == [NOTHING_FOUND, OFF_TOPIC_ANSWERED]
    assert [curve["line"]["color"] for curve in chart["data"]] == [COLOURS[name] for name in curves]
    assert chart["layout"]["xaxis"]["title"]["text"] == "Strictness"
    assert len(curves_chart(curves, 1.0, 1.0)["layout"]["shapes"]) == 1


@pytest.mark.parametrize("shares", [(0.98, 0.97), (0.0, 0.0), (1.0, 0.0), (0.5, 0.49)])
@pytest.mark.parametrize(("before", "after"), [(1.0, 1.0), (1.0, 1.2), (0.0, 3.0)])
def test_values_stand_inside_the_chart_and_apart(shares: tuple[float, float], before: float, after: float):
    curves = {
        name: dict.fromkeys((0.0, 1.0, 1.2, 3.0), share)
        for name, share in zip((NOTHING_FOUND, OFF_TOPIC_ANSWERED), shares, strict=True)
    }
    layout = curves_chart(curves, before, after)["layout"]
    notes = [note for note in layout["annotations"] if note["text"].endswith("%") and note.get("xref") != "paper"]
    assert {note["x"] for note in notes} == {before, after}
    for at in {before, after}:
        lower, upper = sorted(note["y"] for note in notes if note["x"] == at)
        assert 0 <= lower <= upper - 0.099
        assert upper < layout["yaxis"]["range"][1]


@pytest.mark.parametrize("ends", [(0.98, 0.97), (0.0, 0.0), (1.0, 0.0), (0.5, 0.49)])
def test_the_names_of_curves_stand_inside_the_chart_and_apart(ends: tuple[float, float]):
    chart = curves_chart(
        dict(zip((NOTHING_FOUND, OFF_TOPIC_ANSWERED), ({1.0: end} for end in ends), strict=True)), 1.0, 1.0
    )
    upper, lower = (note["y"] for note in chart["layout"]["annotations"][-2:])
    assert 0 <= lower < upper < chart["layout"]["yaxis"]["range"][1]


def test_the_level_of_each_memory_is_told_with_its_costs():
    [line] = cost_lines({"experience": LevelCosts(level=0.2, foreign_shown=0.03, own_hidden=0.1)})
    found = "3% of off-topic questions find something, and 10% of the store's own find nothing"
    assert line == f"Experience: 0.20, with which {found}"


def test_curves_from_before_the_measurement_are_called_provisional():
    curves = {OFF_TOPIC_ANSWERED: {1.0: 0.2}}
    assert "provisional" not in strictness_caption(curves, {})
    assert strictness_caption({}, curves).endswith(
        "The curves are provisional, of a few records, until search is measured."
    )
    assert strictness_caption({}, {}).endswith("once there are enough records to measure them.")
