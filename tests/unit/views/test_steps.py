"""The steps of an attempt: which went wrong, which hold a text, and the way from one error to the next."""

from __future__ import annotations

import pytest

import atlas
from atlas.views.experience.steps import SUMMARY_CHARACTERS, has_error, neighbouring_error, step_lines, step_view

STEPS = (
    atlas.Step(thought="Look first", action="ls", observation="a.py"),
    atlas.Step(action="python a.py", observation="Traceback (most recent call last):\n  ...\nValueError: no rows"),
    atlas.Step(thought="Mend the reader " + "of rows " * 40),
)


def test_each_step_is_a_line_of_what_was_done():
    lines = step_lines(STEPS)
    assert [line.number for line in lines] == [1, 2, 3]
    assert [line.summary for line in lines[:2]] == ["ls", "python a.py"]
    assert lines[2].summary.startswith("Mend the reader of rows")
    assert len(lines[2].summary) <= SUMMARY_CHARACTERS
    assert [line.is_error for line in lines] == [False, True, False]


def test_a_search_finds_a_text_in_any_part_and_shows_it():
    (line,) = step_lines(STEPS, words="NO ROWS")
    assert line.number == 2
    assert "no rows" in line.summary
    assert step_lines(STEPS, words="[unclosed") == ()
    assert [line.number for line in step_lines(STEPS, only_errors=True)] == [2]


def test_a_step_in_full_has_its_parts_under_their_names():
    view = step_view(STEPS, 1)
    assert (view.number, [part.name for part in view.parts]) == (1, ["Thought", "Action", "Observation"])


@pytest.mark.parametrize(
    "observation",
    [
        "KeyError: 'x'",
        "requests.exceptions.ConnectionError: refused",
        "Error: reservation not found",
        "bash: foo: command not found",
        "done\nexit code: 2",
        "FAILED tests/test_a.py::test_b",
        "x" * 30_000 + "\nTraceback (most recent call last):\n  ...",
    ],
)
def test_what_an_agent_saw_tells_an_error(observation):
    assert has_error(atlas.Step(observation=observation))


@pytest.mark.parametrize(
    "observation",
    ["", "0 errors", "except ValueError:", "class ParseError(Exception):", "exit code 0", "It failed before, not now"],
)
def test_a_text_that_speaks_of_errors_is_none(observation):
    assert not has_error(atlas.Step(observation=observation))


def test_metadata_tells_an_error_too():
    assert has_error(atlas.Step(metadata={"is_error": True}))
    assert has_error(atlas.Step(metadata={"exit_code": 1}))
    assert not has_error(atlas.Step(metadata={"exit_code": 0, "error": ""}))


def test_one_goes_from_error_to_error_and_round():
    assert neighbouring_error([3, 9], 0, is_next=True) == 3
    assert neighbouring_error([3, 9], 3, is_next=True) == 9
    assert neighbouring_error([3, 9], 9, is_next=True) == 3
    assert neighbouring_error([3, 9], 3, is_next=False) == 9
    assert neighbouring_error([], 3, is_next=True) is None
