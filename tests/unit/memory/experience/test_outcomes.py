"""Setting how attempts ended: planned, done in one operation, and taken back."""

from __future__ import annotations

import asyncio

import pytest

import atlas
from atlas.core.errors import PlanOutdated
from atlas.testing import HashEmbedder
from tests.support.records import attempt


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(16), settings=atlas.Settings()) as opened:
        yield opened


@pytest.fixture
def ids(memory):
    """Two attempts of unknown outcome, one that succeeded and one that failed."""
    known = (None, None, True, False)
    given = [attempt(f"Task {n}", success, task_id=f"t{n}", feedback="as it is") for n, success in enumerate(known)]
    return memory.experience.store_many(given)


def test_a_plan_names_what_would_change_and_touches_nothing(memory, ids):
    plan = memory.experience.plan_outcomes([*ids, ids[0], "gone"], True)
    assert [(change.id, change.title, change.before) for change in plan.changes] == [
        (ids[0], "Task 0", "unknown"),
        (ids[1], "Task 1", "unknown"),
        (ids[3], "Task 3", "failed"),
    ]
    assert (plan.label, plan.n_same, plan.n_gone) == ("succeeded", 1, 1)
    assert memory.experience.values("outcome") == {"unknown": 2, "succeeded": 1, "failed": 1}


def test_outcomes_are_set_in_one_operation_and_nothing_else_changes(memory, ids):
    before = memory.experience.get_many(ids)
    vectors = [row["embedding"].tolist() for row in memory.experience.collection.get(ids)]
    assert memory.experience.apply_outcomes(memory.experience.plan_outcomes(ids, False)) == 3
    operation = memory.history(1)[0]
    assert (operation.kind, dict(operation.counts)) == ("outcome", {"changed": 3})
    now = memory.experience.get_many(ids)
    assert {one.outcome.label for one in now} == {"failed"}
    assert [one.trajectory_summary for one in now] == ["1 step, failed: as it is"] * 4
    assert [(one.task, one.feedback, one.steps) for one in now] == [(o.task, o.feedback, o.steps) for o in before]
    assert [row["embedding"].tolist() for row in memory.experience.collection.get(ids)] == vectors
    memory.undo(operation.id)
    assert memory.experience.get_many(ids) == before


def test_an_outcome_is_taken_back_to_unknown(memory, ids):
    memory.experience.apply_outcomes(memory.experience.plan_outcomes(ids[2:], None))
    assert memory.experience.values("outcome") == {"unknown": 4}


def test_a_plan_that_no_longer_holds_sets_nothing(memory, ids):
    plan = memory.experience.plan_outcomes(ids, True)
    memory.experience.edit(ids[0], feedback="changed meanwhile")
    with pytest.raises(PlanOutdated):
        memory.experience.apply_outcomes(plan)
    assert memory.experience.values("outcome") == {"unknown": 2, "succeeded": 1, "failed": 1}


def test_a_plan_of_nothing_writes_nothing(memory, ids):
    n = memory.storage.count_operations()
    assert memory.experience.apply_outcomes(memory.experience.plan_outcomes(ids[:1], None)) == 0
    assert memory.storage.count_operations() == n


def test_attempts_that_were_imported_are_found_again_after_their_outcome_was_set(memory, ids):
    memory.experience.apply_outcomes(memory.experience.plan_outcomes(ids, True))
    again = attempt("Task 0", None, task_id="t0", feedback="as it is")
    assert memory.experience.store_many([again], skip_known=True) == []


def test_outcomes_are_set_without_blocking_the_loop(memory, ids):
    async def set_all() -> int:
        return await memory.experience.aapply_outcomes(await memory.experience.aplan_outcomes(ids, True))

    assert asyncio.run(set_all()) == 3
