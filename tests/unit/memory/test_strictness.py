"""How strict searches are: planned on real queries, applied for every process, and undone from the history."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

import atlas
from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.memory.base.strictness import strictness_plan, strictness_queries
from atlas.views.history.operations import operation_page
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
    with pytest.raises(PlanOutdated, match="the strictness has changed from 1 to 3 since"):
        memory.apply_strictness(plan)


def test_a_plan_from_queries_asked_before_is_that_of_asking_them_again(memory):
    assert strictness_plan(memory, 4, strictness_queries(memory)) == memory.plan_strictness(4)


@pytest.mark.parametrize("strictness", [-0.1, 11, float("nan")])
def test_an_impossible_strictness_is_refused(memory, strictness):
    with pytest.raises(InvalidInput, match="expected a strictness from 0 to 10"):
        memory.plan_strictness(strictness)


def answered(memory, query):
    """The attempts that the first ten hits have for a query, but for those in its own words, by id with their task."""
    own = [i for i in memory.experience.ids() if memory.experience.get(i).task.description == query]
    hits = memory.experience.exclude(own).retrieve(query, 10, count_retrieval=False).hits
    return {hit.item.id: hit.item for hit in hits}


RANK = {True: 2, None: 1, False: 0}


@pytest.mark.parametrize(("before", "after"), [(1, 2), (1, 4), (0, 6), (6, 1)])
def test_lost_records_are_those_that_searching_a_copy_of_the_store_loses(memory, tmp_path, before, after):
    more = [("task-0", "fly no more and get money back", False), ("task-0", "refund a cancelled ticket", True)]
    more += [("task-3", "bake a sourdough loaf in an oven", None), ("task-4", "sort numbers", True)]
    memory.experience.store_many(
        atlas.Trajectory(atlas.Task(task, "", text), (), atlas.Outcome(success=success)) for task, text, success in more
    )
    memory.apply_strictness(memory.plan_strictness(before))
    asked = {query.query for query in strictness_queries(memory)}  # a text of each task
    tasks = [
        task for task in (memory.experience.get(i).task for i in memory.experience.ids()) if task.description in asked
    ]
    plan = memory.plan_strictness(after)
    now = {task.description: answered(memory, task.description) for task in tasks}
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    with atlas.open_memory(tmp_path / "copy", embedder=EMBEDDER) as copy:
        copy.apply_strictness(copy.plan_strictness(after))
        then = {task.description: answered(copy, task.description) for task in tasks}
    lost, n_tasks, n_in_hits, n_from_hits = {}, 0, 0, 0
    for task in tasks:
        hits, left = now[task.description], then[task.description]
        right = {i: RANK[each.outcome.success] for i, each in hits.items() if each.task.id == task.id}
        if right:
            best = max(right, key=right.get)
            ranks = [RANK[each.outcome.success] for each in left.values() if each.task.id == task.id]
            if max(ranks, default=-1) < right[best]:
                lost.setdefault(best, set()).add(task.description)
        n_tasks += bool(right)
        n_in_hits += len(right)
        n_from_hits += len(right.keys() - left.keys())
    assert {record.id: set(record.tasks) for record in plan.lost} == lost
    assert (plan.n_tasks, plan.n_in_hits, plan.n_lost_from_hits) == (n_tasks, n_in_hits, n_from_hits)


def test_the_figure_stands_in_the_plan_and_in_the_history(memory):
    memory.experience.store_many([
        atlas.Trajectory(atlas.Task("task-0", "", "refund a ticket"), (), atlas.Outcome(success=True))
    ])  # fmt: skip
    memory.judge("sourdough", memory.experience.ids()[3], True)
    plan = memory.plan_strictness(10)
    assert plan.n_losing
    assert plan.loss_sentence in memory.apply_strictness(plan).reason


def test_history_shows_each_change_with_both_values(memory):
    memory.apply_strictness(memory.plan_strictness(2))
    memory.apply_strictness(memory.plan_strictness(3))
    row = operation_page(memory).rows[0]
    assert (row.what, row.reason) == ("strictness", "strictness 3, before 2")
    assert row.sentence == "Changed the strictness of searches"
    [change] = memory.changes(row.id)
    assert ("strictness", "2.0", "3.0") in change.fields
