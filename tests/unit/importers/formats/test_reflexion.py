"""Reflexion's logs as trajectories."""

from __future__ import annotations

import pytest

from atlas.core.types import Step
from atlas.importers.formats.reflexion import describe


def test_a_programming_attempt_keeps_reflections_solution_and_test(files, mbpp_row):
    attempt = files.only("reflexion", files.lines("log.jsonl", [mbpp_row()]))
    assert attempt.task.id == "mbpp_9_double"
    assert attempt.task.description == "Write a function to double n.\n\ndef double(n: int) -> int"
    assert attempt.task.context["test"] == "assert double(2) == 4"
    assert attempt.task.context["entry_point"] == "double"
    assert attempt.steps == (Step(thought="I added instead."), Step(action="def double(n):\n    return 2 * n"))
    assert attempt.outcome.success is True
    assert attempt.metadata["source"] == "reflexion/mbpp"
    assert attempt.metadata["feedback"] == "I added instead."
    assert attempt.metadata["solution"] == "def double(n):\n    return 2 * n"


@pytest.mark.parametrize(
    ("changes", "source", "task_id"),
    [
        ({"name": "mbpp_9_double"}, "reflexion/mbpp", "mbpp_9_double"),
        ({"name": "HumanEval/4"}, "reflexion/humaneval", "HumanEval/4"),
        ({"name": "two-sum", "cannonical_solution": ""}, "reflexion/leetcode", "leetcode/two-sum"),
        ({"name": "other"}, "reflexion", "other"),
    ],
)
def test_the_benchmark_is_told_by_the_row(files, mbpp_row, changes, source, task_id):
    attempt = files.only("reflexion", files.lines("log.jsonl", [mbpp_row(**changes)]))
    assert (attempt.metadata["source"], attempt.task.id) == (source, task_id)


@pytest.mark.parametrize(
    ("reflections", "steps"),
    [
        (["a", "b"], ["a", "b"]),
        ('["a", "b"]', ["a", "b"]),
        ("['it isn\\'t', \"b\"]", ["it isn't", "b"]),
        ("plain words", ["plain words"]),
        ("[not a list", ["[not a list"]),
        ("[]", []),
        ("", []),
        ([], []),
        (None, []),
        ("[" * 10_000, ["[" * 10_000]),
    ],
)
def test_reflections_may_be_a_list_or_a_text_that_holds_one(files, mbpp_row, reflections, steps):
    attempt = files.only("reflexion", files.lines("log.jsonl", [mbpp_row(reflections=reflections)]))
    assert [step.thought for step in attempt.steps if step.thought] == steps


@pytest.mark.parametrize(("flag", "success"), [(True, True), (False, False), ("False", False), (None, None)])
def test_whether_it_was_solved_is_the_outcome(files, mbpp_row, flag, success):
    attempt = files.only("reflexion", files.lines("log.jsonl", [mbpp_row(is_solved=flag)]))
    assert attempt.outcome.success is success


def test_an_attempt_without_a_solution_has_no_empty_step(files, mbpp_row):
    attempt = files.only("reflexion", files.lines("log.jsonl", [mbpp_row(solution="", reflections=[])]))
    assert attempt.steps == ()
    assert "solution" not in attempt.metadata


def test_household_trials_say_honestly_that_there_is_no_task_text(files):
    trial = files.json("trial_3.json", [{"name": "env_2", "memory": ["Look in the fridge."], "is_success": False}])
    attempt = files.only("reflexion", trial)
    assert attempt.task.id == "alfworld/env_2"
    assert attempt.task.description == "ALFWorld household task env_2"
    assert attempt.steps == (Step(thought="Look in the fridge."),)
    assert attempt.metadata == {"source": "reflexion/alfworld", "feedback": "Look in the fridge."}
    assert attempt.outcome.success is False


@pytest.mark.parametrize(
    ("prompt", "entry_point", "description"),
    [
        ("Just words.\n", "", "Just words."),
        ("def f(x):\n    pass", "f", "def f(x):\n    pass"),
        ('def f(x):\n    """ Adds.\n    >>> f(1)\n    """\n', "f", "Adds.\n>>> f(1)\n\ndef f(x)"),
        ("def f(x):\n    '''Adds.'''\n", "", "Adds.\n\ndef f(x)"),
        ('def g():\n    """Helps."""\n\ndef f(x):\n    """Adds."""\n', "f", "Adds.\n\ndef f(x)"),
        ('def f(x):\n    """Never closed', "f", "Never closed\n\ndef f(x)"),
    ],
)
def test_a_stub_is_described_by_its_docstring_and_signature(prompt, entry_point, description):
    assert describe(prompt, entry_point) == description


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"prompt": ""}, "expected a string for prompt, got an empty one"),
        ({"prompt": None}, "expected a string for prompt, got an empty one"),
        ({"name": None}, "expected a string or a whole number for name, got nothing"),
        ({"is_solved": 1}, "expected true or false for is_solved, got type int"),
        ({"reflections": 5}, "expected a list for reflections, got type int"),
        ({"reflections": ["a", 5]}, "expected a string for reflections[1], got type int"),
        ({"solution": ["x"]}, "expected a string for solution, got type list"),
        ({"test": {}}, "expected a string for test, got type dict"),
        ({"solution": "\ud800"}, "contains a lone surrogate"),
    ],
)
def test_a_field_of_the_wrong_type_is_named_and_costs_its_row_only(files, mbpp_row, changes, reason):
    rows = files.read("reflexion", files.lines("log.jsonl", [mbpp_row(), mbpp_row(**changes), mbpp_row()]))
    assert [row.item is None for row in rows] == [False, True, False]
    assert reason in rows[1].reason
