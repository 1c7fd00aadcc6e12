"""How strict searches are: planned on real queries, applied for every process, and undone from the history."""

from __future__ import annotations

from dataclasses import replace

import pytest

import atlas
from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.memory.base.strictness import asked_queries, strictness_plan
from atlas.views.history.operations import operation_detail, operation_page
from tests.support.sample import EMBEDDER

TEXTS = (
    "cancel a booked flight and refund the ticket",
    "cancel a flight that was booked twice",
    "refund a ticket of a cancelled flight",
    "bake a sourdough loaf in a cold oven",
    "sort a list of numbers without a library",
)


def _attempt(text: str, number: int) -> atlas.Trajectory:
    return atlas.Trajectory(atlas.Task(f"task-{number}", "", text), (), atlas.Outcome(success=True))


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=EMBEDDER) as memory:
        memory.experience.store_many([_attempt(text, number) for number, text in enumerate(TEXTS)])
        yield memory


def _n_hits(memory, query):
    return len(memory.experience.retrieve(query, 10).hits)


def test_a_stricter_store_shows_less_in_every_process_and_undo_shows_it_again(memory, tmp_path):
    before = _n_hits(memory, TEXTS[0])
    assert memory.strictness() == 1
    operation = memory.apply_strictness(memory.plan_strictness(10))
    with atlas.open_memory(tmp_path / "store", embedder=EMBEDDER, read_only=True) as other:
        assert other.strictness() == 10
        assert _n_hits(other, TEXTS[0]) < before
    memory.undo(operation.id)
    assert memory.strictness() == 1
    assert _n_hits(memory, TEXTS[0]) == before


def test_the_strictness_of_a_profile_multiplies_that_of_the_store(memory):
    measured = memory.experience.level()
    memory.apply_strictness(memory.plan_strictness(2))
    assert memory.experience.level() == pytest.approx(2 * measured)
    half = memory.experience.ranked_with(replace(memory.experience.weights, strictness=0.5))
    assert half.level() == pytest.approx(measured)


def test_a_plan_names_the_queries_that_are_answered_otherwise_and_applying_it_does_so(memory):
    plan = memory.plan_strictness(10)
    assert (plan.before, plan.after, plan.n_queries) == (1, 10, len(TEXTS))
    [about_flights] = [query for query in plan.changed if query.query == TEXTS[0]]
    assert about_flights.best in TEXTS[1:3]
    assert about_flights.n_after < about_flights.n_before
    memory.apply_strictness(plan)
    others = [hit for hit in memory.experience.retrieve(TEXTS[0], 10).hits if hit.item.task.description != TEXTS[0]]
    assert len(others) == about_flights.n_after


def test_nothing_changes_for_the_strictness_that_holds(memory):
    assert memory.plan_strictness(1).changed == ()


def test_a_plan_is_refused_once_the_strictness_was_changed(memory):
    plan = memory.plan_strictness(2)
    memory.apply_strictness(memory.plan_strictness(3))
    with pytest.raises(PlanOutdated, match="the strictness was 1 and is 3 now"):
        memory.apply_strictness(plan)


def test_a_plan_from_queries_asked_before_is_that_of_asking_them_again(memory):
    assert strictness_plan(memory, 4, asked_queries(memory)) == memory.plan_strictness(4)


@pytest.mark.parametrize("strictness", [-0.1, 11, float("nan")])
def test_an_impossible_strictness_is_refused(memory, strictness):
    with pytest.raises(InvalidInput, match="strictness should be from 0 to 10"):
        memory.plan_strictness(strictness)


def test_history_shows_each_change_with_both_values(memory):
    memory.apply_strictness(memory.plan_strictness(2))
    memory.apply_strictness(memory.plan_strictness(3))
    row = operation_page(memory).rows[0]
    assert (row.what, row.reason) == ("strictness", "strictness 3, before 2")
    assert operation_detail(memory, row.id).meaning == "The strictness of searches was changed"
    [change] = memory.changes(row.id)
    assert ("strictness", "2.0", "3.0") in change.fields
