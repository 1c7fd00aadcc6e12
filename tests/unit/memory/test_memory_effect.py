"""Whether memory helps: tasks tried with memories, against the same tasks tried without."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import atlas
from atlas.core.settings import Settings
from atlas.memory.effects.memory_effect import JudgedAttempt, effect_among
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.overview.effect import unused_sentence

NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(16), settings=Settings(), clock=FixedClock(NOW)) as opened:
        yield opened


def judged(task_id: str, *, used: str = "", not_used: str = "") -> list[JudgedAttempt]:
    """Attempts at a task, `+` for each success and `-` for each failure, with and without memories."""
    return [
        JudgedAttempt(task_id=task_id, success=mark == "+", has_used=has_used)
        for has_used, marks in ((True, used), (False, not_used))
        for mark in marks
    ]


def tried(task_id: str, success: bool | None, *, days: int = 0, used: list[str] | None = None) -> atlas.Trajectory:
    """An attempt so many days from now that names the strategies that it used."""
    return atlas.Trajectory(
        atlas.Task(task_id, "", f"Do {task_id}"),
        (),
        atlas.Outcome(success),
        timestamp=NOW + timedelta(days=days),
        metadata={"used": {"strategies": used or []}},
    )


def strategy(memory: atlas.MemorySystem, *, days: int = -1, sources: tuple[str, ...] = ()) -> str:
    """A strategy that was written so many days from now."""
    made = atlas.Strategy(situation=f"S {days} {sources}", suggestion="do it", sources=sources)
    return memory.strategies.add(replace(made, created_at=NOW + timedelta(days=days)))


def test_a_task_went_better_where_its_rate_is_higher_with_memories():
    found = effect_among(
        [
            *judged("better", used="++", not_used="+-"),
            *judged("worse", used="+-", not_used="+"),
            *judged("alike", used="+", not_used="++"),
        ]
    )
    assert [task.task_id for task in found.tasks] == ["better", "alike", "worse"]
    assert (found.n_helped, found.n_hurt, found.n_tasks) == (1, 1, 3)
    assert (found.tasks[0].used.rate, found.tasks[0].not_used.rate) == (1.0, 0.5)


def test_only_tasks_with_attempts_of_both_kinds_are_compared():
    found = effect_among([*judged("with", used="++-"), *judged("without", not_used="+-"), *judged("", used="+-")])
    assert found.tasks == ()
    assert found.helped is None
    assert found.n_only_used == 1


def test_the_interval_is_of_the_share_of_tasks_and_the_same_each_time():
    marks = ["+"] * 9 + ["-"] * 3
    attempts = [one for n, mark in enumerate(marks) for one in judged(f"t{n}", used=mark, not_used="+-")]
    found = effect_among(attempts)
    assert found.helped is not None
    assert found.helped.mean == 0.75
    assert found.helped.interval is not None
    assert 0.4 < found.helped.interval.low < 0.6
    assert 0.9 < found.helped.interval.high <= 1.0
    assert found.helped == effect_among(reversed(attempts)).helped
    assert found.gain is not None
    assert found.gain.mean == pytest.approx(0.25)  # nine tasks gain a half, three lose one
    assert found.gain.interval is not None
    assert -0.1 < found.gain.interval.low < 0.1
    assert 0.4 < found.gain.interval.high <= 0.5
    assert found.has_enough_tasks


def test_few_tasks_are_not_enough_and_fewer_have_no_interval():
    found = effect_among([one for n in range(4) for one in judged(f"t{n}", used="+", not_used="-")])
    assert not found.has_enough_tasks
    assert found.helped is not None
    assert found.helped.interval is None


def test_what_store_counts_is_what_is_compared(memory):
    used = strategy(memory)
    memory.store(tried("a", False))
    memory.store(tried("a", True, used=[used]))
    memory.store(tried("a", None, used=[used]))
    [task] = memory.memory_effect().tasks
    assert (task.used.n, task.not_used.n, task.difference) == (1, 1, 1.0)
    assert asyncio.run(memory.amemory_effect()) == memory.memory_effect()


def test_memories_that_are_later_than_an_attempt_do_not_make_it_one_with_memories(memory):
    later = strategy(memory, days=3)
    memory.store(tried("a", False))
    memory.store(tried("a", True, used=[later]))
    assert memory.memory_effect().tasks == ()


def test_a_memory_that_was_made_from_an_attempt_did_not_help_it(memory):
    attempt = tried("a", True)
    own = strategy(memory, sources=(attempt.id,))
    memory.store(tried("a", False))
    memory.store(replace(attempt, metadata={"used": {"strategies": [own]}}))
    assert memory.memory_effect().tasks == ()


def test_an_attempt_that_became_one_more_source_of_what_it_used_counts(memory):
    attempt = tried("a", True)
    used = strategy(memory, sources=("another", attempt.id))
    memory.store(tried("a", False))
    memory.store(replace(attempt, metadata={"used": {"strategies": [used]}}))
    assert memory.memory_effect().n_helped == 1


def test_a_used_memory_that_was_deleted_since_still_counts_as_used(memory):
    used = strategy(memory)
    memory.store(tried("a", False))
    memory.store(tried("a", True, used=[used]))
    memory.strategies.delete([used])
    assert memory.memory_effect().n_helped == 1


def test_an_attempt_that_was_undone_is_compared_no_longer(memory):
    used = strategy(memory)
    memory.store(tried("a", False))
    memory.store(tried("a", True, used=[used]))
    memory.undo(memory.history(limit=1)[0].id)
    assert memory.memory_effect().tasks == ()


def test_attempts_that_follow_a_failure_at_their_task_are_counted(memory):
    used = strategy(memory, days=-9)
    for days, (success, ids) in enumerate([(False, []), (True, [used]), (True, []), (False, [used]), (True, [used])]):
        memory.store(tried("a", success, days=days - 6, used=ids))
    found = memory.memory_effect()
    after, first = found.after_failure(True), found.after_failure(False)
    assert (after.n, after.n_succeeded) == (3, 2)
    assert (first.n, first.n_succeeded) == (2, 0)
    assert found.has_selection_bias


def test_an_attempt_that_was_merged_away_counts_as_itself(memory):
    used = strategy(memory)
    first = memory.store(tried("a", False, days=-2))["experience"]
    second = memory.store(tried("a", True, days=-1, used=[used]))["experience"]
    memory.strategies.edit(used, title="another title")
    [before] = memory.memory_effect().tasks
    assert [attempt.experience_id for attempt in before.attempts] == [first, second]
    memory.experience.apply_merge(memory.experience.plan_merge([[first, second]]))
    [kept] = memory.experience.ids()
    [after] = memory.memory_effect().tasks
    assert (after.used, after.not_used) == (before.used, before.not_used)
    assert sorted(attempt.experience_id for attempt in after.attempts) == ["", kept]


def test_uses_are_carried_with_what_is_exported(memory, tmp_path):
    used = memory.store(tried("b", True, days=-5))["experience"]
    memory.store(tried("a", False))
    attempt = replace(tried("a", True), metadata={"used": {"experience": [used]}})
    memory.store(attempt)
    exported = memory.experience.export(memory.experience.ids())
    with atlas.open_memory(tmp_path / "other", embedder=HashEmbedder(16), settings=Settings()) as other:
        other.experience.restore_many(exported)
        assert other.memory_effect() == memory.memory_effect()
        assert other.memory_effect().n_helped == 1


def test_attempts_that_were_given_memories_are_with_memory_whether_or_not_they_used_them(memory):
    tasks = [atlas.Task("a", "", "sum the invoices"), atlas.Task("b", "", "sum the orders")]
    for task in tasks:
        memory.store(atlas.Trajectory(task, (), atlas.Outcome(False)))
        block = memory.build_context(task)
        [name] = re.findall(r"^\[experience (\w+)\]", block.text, re.MULTILINE)[:1]
        step = atlas.Step(thought=f"as {name} says" if task.id == "a" else "hm")
        memory.store(atlas.Trajectory(task, (step,), atlas.Outcome(True)))
    found = memory.memory_effect()
    assert {task.task_id: (task.used.n, task.not_used.n, task.difference) for task in found.tasks} == {
        "a": (1, 1, 1.0),
        "b": (1, 1, 1.0),
    }
    assert sum(map(len, (attempt.used for task in found.tasks for attempt in task.attempts))) == 1
    assert (found.unused.n_blocks, 0 < found.unused.share < 1) == (2, True)
    sentence = unused_sentence(found)
    assert "tokens of records in 2 blocks went unused: the attempts neither named" in sentence
