"""Which retrieved memories an attempt used."""

from __future__ import annotations

from dataclasses import replace

import pytest

import atlas
from atlas.memory.attribution import Delivery, TrajectoryAttribution
from atlas.memory.context.block import TokenCounter
from tests.support.memories import attempt

GIVEN = {"strategies": ("aaaa1111", "aaaa2222"), "experience": ("bbbb1111",), "concepts": ()}


def noted(**options):
    attribution, trajectory = TrajectoryAttribution(**options), attempt("cancel a flight")
    attribution.record_delivery(trajectory.task, Delivery(GIVEN))
    return attribution, trajectory


def stating(trajectory, used):
    return replace(trajectory, metadata={"used": used})


def test_what_was_merely_shown_is_not_used_and_is_forgotten_once_it_is_stored():
    attribution, trajectory = noted()
    assert attribution.attribute(trajectory).used == {}
    assert attribution.attribute(trajectory).metadata == {"shown_records": 3}
    assert attribution.attribute(attempt("another task")).metadata == {}
    attribution.forget(trajectory)
    assert attribution.attribute(trajectory).metadata == {}


def with_words(trajectory, *, thought="", action="", observation="", solution=""):
    step = atlas.Step(thought, action, observation)
    return replace(trajectory, steps=(step,), metadata={"solution": solution} if solution else {})


@pytest.mark.parametrize("where", ["thought", "action", "solution"])
def test_what_the_agents_own_words_name_is_all_that_counts(where):
    attribution, trajectory = noted()
    named = with_words(trajectory, **{where: "As [strategy aaaa2222] says, cancel first; bbbb1111 agrees."})
    assert attribution.attribute(named).used == {"strategies": ("aaaa2222",), "experience": ("bbbb1111",)}


@pytest.mark.parametrize(
    "words", [{"observation": "[strategy aaaa2222] cancel"}, {"thought": "xaaaa2222 aaaa 2222"}, {"action": "cancel"}]
)
def test_what_a_tool_shows_or_another_word_contains_names_nothing(words):
    attribution, trajectory = noted()
    assert attribution.attribute(with_words(trajectory, **words)).used == {}


def test_an_id_that_may_be_an_ordinary_word_is_not_named_by_it():
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    given = {"strategies": ("cancellation", "x1"), "experience": ("e1234567",)}
    attribution.record_delivery(trajectory.task, Delivery(given))
    assert attribution.attribute(with_words(trajectory, thought="a cancellation of x1")).used == {}


def test_an_attempt_may_say_what_it_used_by_memory():
    attribution, trajectory = noted()
    said = {"concepts": ["c1", "c1"], "strategies": "aaaa1111", "experience": []}
    assert attribution.attribute(stating(trajectory, said)).used == {"concepts": ("c1",), "strategies": ("aaaa1111",)}


def test_an_attempt_may_name_what_it_used_by_how_the_ids_begin():
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    first, second = "aaaa1111bbbb", "aaaa1111cccc"
    given = {"strategies": (first, second), "experience": ("dddd1111eeee",), "concepts": ("c",)}
    attribution.record_delivery(trajectory.task, Delivery(given))
    taken = attribution.attribute(
        stating(trajectory, ["aaaa1111b", "dddd1111", "c", "aaaa1111", "dddd111", "", "nothing"])
    )
    assert taken.used == {"strategies": (first,), "experience": ("dddd1111eeee",), "concepts": ("c",)}
    assert taken.unknown == ("aaaa1111", "dddd111", "", "nothing")


def test_memories_may_be_named_as_a_context_block_does():
    attribution, trajectory = noted()
    said = {"strategy": ["s1"], "strategies": ["s1", "s2"], "entry": "e", "concept": None}
    assert attribution.attribute(stating(trajectory, said)).used == {"strategies": ("s1", "s2"), "journal": ("e",)}


def test_ids_may_be_named_as_a_context_block_shows_them():
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    given = {"experience": ("exp[1] x", "y[1", "y]1"), "strategies": ("s" * 3_000, "s" * 2_000)}
    attribution.record_delivery(trajectory.task, Delivery(given))
    taken = attribution.attribute(stating(trajectory, ["exp_1_ x", "y_1", "y[1", f"{'s' * 63}…"]))
    assert taken.used == {"experience": ("exp[1] x", "y[1")}
    assert taken.unknown == ("y_1", f"{'s' * 63}…")
    attribution.record_delivery(trajectory.task, Delivery(given))
    taken = attribution.attribute(stating(trajectory, {"experience": ["exp_1_ x", "y_1"]}))
    assert taken.used == {"experience": ("exp[1] x", "y_1")}


@pytest.mark.parametrize("used", [["s1"], {"strategies": ["s1"]}])
def test_an_id_that_is_no_text_costs_nothing_else(used):
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    attribution.record_delivery(trajectory.task, Delivery({"strategies": (5, "s1")}))
    assert attribution.attribute(stating(trajectory, used)).used == {"strategies": ("s1",)}
    attribution.record_delivery(trajectory.task, Delivery({"strategies": (5, "s12345678")}))
    assert attribution.attribute(stating(trajectory, {"strategies": ["s1234567"]})).used == {
        "strategies": ("s12345678",)
    }


@pytest.mark.parametrize(
    ("used", "problem"),
    [
        (5, "expected a list of ids, or a mapping from memories to lists, for `used`, got 5"),
        ([5], "expected a list of ids, or a mapping from memories to lists, for `used`, got [5]"),
        ({"strategies": {"a": 1}}, "expected a list of ids for `used` of strategies, got {'a': 1}"),
        (
            {"diary": ["a"]},
            "expected one of experience, concepts, strategies, journal for a memory in `used`, got 'diary'",
        ),
    ],
)
def test_what_has_another_form_is_told(used, problem):
    attribution, trajectory = noted()
    taken = attribution.attribute(stating(trajectory, used))
    assert (taken.used, taken.unknown, taken.problems) == ({}, (), (problem,))


def test_an_attempt_may_say_that_it_used_nothing():
    attribution, trajectory = noted()
    assert attribution.attribute(stating(trajectory, [])).used == {}


def test_only_the_last_tasks_are_remembered():
    attribution, first = noted(max_tasks=2)
    for n in range(2):
        attribution.record_delivery(attempt(f"task {n}").task, Delivery(GIVEN))
    assert attribution.attribute(first).metadata == {}
    assert attribution.attribute(attempt("task 0")).metadata == {"shown_records": 3}


ADVICE = (
    "Read the fare rules of the ticket first, then look up whether insurance was bought, and only then cancel the "
    "flight and name the refund to the customer."
)
BLOCK = f"""<atlas-memory>
What is remembered.

## Strategies: what to do in which situation
[strategy aaaa1111] Cancel a flight
  Do: {ADVICE}
[strategy aaaa2222] Cancel it like this, too
  Do: {ADVICE}

## Experiences: what worked, what failed and why
[experience bbbb1111] succeeded: change a flight
  Did: change it
  | at once
</atlas-memory>"""
COUNTER = TokenCounter(count=lambda text: len(text.split()), name="words")


def shown(**options):
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    attribution.record_delivery(trajectory.task, Delivery(GIVEN, None, BLOCK, COUNTER))
    return attribution.attribute(with_words(trajectory, **options))


def test_a_record_is_used_whose_text_reappears_and_shared_text_counts_for_the_first():
    found = shown(thought=f"Right. {ADVICE.upper()}")
    assert found.used == {"strategies": ("aaaa1111",)}
    n_advice = len(ADVICE.split())
    assert found.metadata == {"shown_records": 3, "shown_tokens": 2 * n_advice + 20, "unused_tokens": n_advice + 16}


@pytest.mark.parametrize(
    "words",
    [
        {"observation": ADVICE},
        {"thought": " ".join(ADVICE.split()[:15])},
        {"thought": ADVICE, "observation": f"The policy: {ADVICE}"},
    ],
)
def test_text_that_was_only_read_or_is_short_or_came_from_elsewhere_is_no_use(words):
    assert shown(**words).used == {}


def test_the_block_itself_as_an_observation_does_not_take_the_use_away():
    assert shown(thought=ADVICE, observation=BLOCK).used == {"strategies": ("aaaa1111",)}


def test_named_ids_come_before_text_that_reappears():
    assert shown(thought=f"{ADVICE} as bbbb1111 says").used == {"experience": ("bbbb1111",)}


@pytest.mark.parametrize(
    ("action", "is_used"), [("print(sum_fares(x))", True), ("def sum_fares(x): ...", False), ("sum_fares", False)]
)
def test_a_concept_is_used_that_is_called(action, is_used):
    attribution, trajectory = TrajectoryAttribution(), attempt("cancel a flight")
    block = "[concept cccc1111] sum_fares\n  Code:\n  | def sum_fares(x): return sum(x)\n</atlas-memory>"
    attribution.record_delivery(trajectory.task, Delivery({"concepts": ("cccc1111",)}, None, block, COUNTER))
    used = attribution.attribute(with_words(trajectory, action=action)).used
    assert used == ({"concepts": ("cccc1111",)} if is_used else {})
