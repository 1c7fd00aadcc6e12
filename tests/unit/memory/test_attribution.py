"""Which retrieved memories an attempt used."""

from __future__ import annotations

from dataclasses import replace

import pytest

import atlas
from atlas.memory.attribution import TrajectoryAttribution
from tests.support.memories import attempt

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


def with_words(trajectory, *, thought="", action="", observation="", solution=""):
    step = atlas.Step(thought, action, observation)
    return replace(trajectory, steps=(step,), metadata={"solution": solution} if solution else {})


@pytest.mark.parametrize("where", ["thought", "action", "solution"])
def test_what_the_agents_own_words_name_is_all_that_counts(where):
    attribution, trajectory = noted()
    named = with_words(trajectory, **{where: "As [strategy aaaa2222] says, cancel first; bbbb1111 agrees."})
    assert attribution.take(named).used == {"strategies": ("aaaa2222",), "experience": ("bbbb1111",)}


@pytest.mark.parametrize(
    "words", [{"observation": "[strategy aaaa2222] cancel"}, {"thought": "xaaaa2222 aaaa 2222"}, {"action": "cancel"}]
)
def test_what_a_tool_shows_or_another_word_contains_names_nothing(words):
    attribution, trajectory = noted()
    used = {"strategies": ("aaaa1111", "aaaa2222"), "experience": ("bbbb1111",)}
    assert attribution.take(with_words(trajectory, **words)).used == used


def test_an_id_that_may_be_an_ordinary_word_is_not_named_by_it():
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    given = {"strategies": ("cancellation", "x1"), "experience": ("e1234567",)}
    attribution.note(trajectory.task, given)
    assert attribution.take(with_words(trajectory, thought="a cancellation of x1")).used == given


def test_an_attempt_may_say_what_it_used_by_memory():
    attribution, trajectory = noted()
    said = {"concepts": ["c1", "c1"], "strategies": "aaaa1111", "experience": []}
    assert attribution.take(stating(trajectory, said)).used == {"concepts": ("c1",), "strategies": ("aaaa1111",)}


def test_an_attempt_may_name_what_it_used_by_how_the_ids_begin():
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    first, second = "aaaa1111bbbb", "aaaa1111cccc"
    attribution.note(
        trajectory.task, {"strategies": (first, second), "experience": ("dddd1111eeee",), "concepts": ("c",)}
    )
    taken = attribution.take(stating(trajectory, ["aaaa1111b", "dddd1111", "c", "aaaa1111", "dddd111", "", "nothing"]))
    assert taken.used == {"strategies": (first,), "experience": ("dddd1111eeee",), "concepts": ("c",)}
    assert taken.unknown == ("aaaa1111", "dddd111", "", "nothing")


def test_memories_may_be_named_as_a_context_block_does():
    attribution, trajectory = noted()
    said = {"strategy": ["s1"], "strategies": ["s1", "s2"], "entry": "e", "concept": None}
    assert attribution.take(stating(trajectory, said)).used == {"strategies": ("s1", "s2"), "journal": ("e",)}


def test_ids_may_be_named_as_a_context_block_shows_them():
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    given = {"experience": ("exp[1] x", "y[1", "y]1"), "strategies": ("s" * 3_000, "s" * 2_000)}
    attribution.note(trajectory.task, given)
    taken = attribution.take(stating(trajectory, ["exp_1_ x", "y_1", "y[1", f"{'s' * 63}…"]))
    assert taken.used == {"experience": ("exp[1] x", "y[1")}
    assert taken.unknown == ("y_1", f"{'s' * 63}…")
    attribution.note(trajectory.task, given)
    taken = attribution.take(stating(trajectory, {"experience": ["exp_1_ x", "y_1"]}))
    assert taken.used == {"experience": ("exp[1] x", "y_1")}


@pytest.mark.parametrize("used", [["s1"], {"strategies": ["s1"]}])
def test_an_id_that_is_no_text_costs_nothing_else(used):
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    attribution.note(trajectory.task, {"strategies": (5, "s1")})
    assert attribution.take(stating(trajectory, used)).used == {"strategies": ("s1",)}
    attribution.note(trajectory.task, {"strategies": (5, "s12345678")})
    assert attribution.take(stating(trajectory, {"strategies": ["s1234567"]})).used == {"strategies": ("s12345678",)}


@pytest.mark.parametrize(
    ("used", "problem"),
    [
        (5, "`used` should be ids by memory, or a list of ids, but is 5"),
        ([5], "`used` should be ids by memory, or a list of ids, but is [5]"),
        ({"strategies": {"a": 1}}, "`used` of strategies should be a list of ids, but is {'a': 1}"),
        ({"diary": ["a"]}, "`used` names a memory 'diary', but there are experience, concepts, strategies, journal"),
    ],
)
def test_what_has_another_form_is_told(used, problem):
    attribution, trajectory = noted()
    taken = attribution.take(stating(trajectory, used))
    assert (taken.used, taken.unknown, taken.problems) == ({}, (), (problem,))


def test_an_attempt_may_say_that_it_used_nothing():
    attribution, trajectory = noted()
    assert attribution.take(stating(trajectory, [])).used == {}


def test_only_the_last_tasks_are_remembered():
    attribution, first = noted(most_tasks=2)
    for n in range(2):
        attribution.note(attempt(f"task {n}").task, GIVEN)
    assert attribution.take(first).used == {}
    assert attribution.take(attempt("task 0")).used != {}
