"""Which retrieved memories an attempt used."""

from __future__ import annotations

from dataclasses import replace

from atlas.memory.attribution import TrajectoryAttribution
from tests.unit.memory.conftest import attempt

GIVEN = {"strategies": ("aaaa1111", "aaaa2222"), "experience": ("bbbb1111",), "concepts": ()}


def noted(**options):
    attribution, trajectory = TrajectoryAttribution(**options), attempt("cancel a flight")
    attribution.note(trajectory.task, GIVEN)
    return attribution, trajectory


def stating(trajectory, used):
    return replace(trajectory, metadata={"used": used})


def test_what_was_given_for_its_task_counts_as_used_once():
    attribution, trajectory = noted()
    assert attribution.take(trajectory).used == {"strategies": ("aaaa1111", "aaaa2222"), "experience": ("bbbb1111",)}
    assert attribution.take(trajectory).used == {}
    assert attribution.take(attempt("another task")).used == {}


def test_an_attempt_may_say_what_it_used_by_memory():
    attribution, trajectory = noted()
    said = {"concepts": ["c1", "c1"], "strategies": "aaaa1111", "experience": []}
    assert attribution.take(stating(trajectory, said)).used == {"concepts": ("c1",), "strategies": ("aaaa1111",)}


def test_an_attempt_may_name_what_it_used_by_how_the_ids_begin():
    attribution, trajectory = noted()
    taken = attribution.take(stating(trajectory, ["aaaa1", "bbbb", "aaaa", "", "nothing"]))
    assert taken.used == {"strategies": ("aaaa1111",), "experience": ("bbbb1111",)}
    assert taken.unknown == ("aaaa", "", "nothing")


def test_an_attempt_may_say_that_it_used_nothing():
    attribution, trajectory = noted()
    assert attribution.take(stating(trajectory, [])).used == {}


def test_only_the_last_tasks_are_remembered():
    attribution, first = noted(most_tasks=2)
    for n in range(2):
        attribution.note(attempt(f"task {n}").task, GIVEN)
    assert attribution.take(first).used == {}
    assert attribution.take(attempt("task 0")).used != {}
