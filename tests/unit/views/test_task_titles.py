"""Titles of tasks: a phrase that ends properly, of prompts as people and benchmarks write them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from atlas.core.settings import Settings
from atlas.importers.run import read_attempts
from atlas.views.kinds.titles import TITLE_CHARACTERS, TaskTitle, task_text, task_title


@pytest.mark.parametrize(
    ("description", "title", "rest"),
    [
        ("Rotate the logs of the CI runners", "Rotate the logs of the CI runners", ""),
        ("A bug! Mend the page of orders.", "A bug! Mend the page of orders", ""),
        ("The kettle is broken again. Descale it.", "The kettle is broken again", "Descale it."),
        ("You are ann_lee_12. You want to fly home on May 20 (one way). You have no bags.",
         "Fly home on May 20 (one way)", "You have no bags."),
        ("You are ann_lee_12 and you want to cancel your flight to Oslo.", "Cancel your flight to Oslo", ""),
        ("You are Ann (with ID: ann_lee_12). You want to cancel your flight home.", "Cancel your flight home", ""),
        ("You are Ann (with ID: ann_lee_12), you want to cancel your flight.", "Cancel your flight", ""),
        ("You are ann_lee_12, and want to cancel your flight to Oslo.", "Cancel your flight to Oslo", ""),
        ("You are an agent with a shell. Could you please find out why the tests fail?",
         "Find out why the tests fail", ""),
        ("Hello Bob! Can you write the notes of Monday? In English.", "Write the notes of Monday", "In English."),
        ("Where is my parcel? I want it today.", "Where is my parcel?", "I want it today."),
        ("Fwd: Re: Confirm the permits for level 2.", "Confirm the permits for level 2", ""),
        ('"The wheel is late for the third time!" Answer the mail.',
         "The wheel is late for the third time!", "Answer the mail."),
        ('from typing import List\n\ndef area(side: int) -> int:\n    """ Find the area of a square with this side.\n'
         '    >>> area(2)\n    4\n    """\n', "Find the area of a square with this side", ">>> area(2) 4"),
        ("We're currently solving the following issue within our repository. Here's the issue text:\nISSUE:\n"
         "Wrong rounding of durations\n\nHi there! I found this.",
         "Wrong rounding of durations", "Hi there! I found this."),
        ("Nightly run 7 (03:10, last try): rebuild the index of the whole catalogue of bikes after the nightly import",
         "Nightly run 7 (03:10, last try)",
         "rebuild the index of the whole catalogue of bikes after the nightly import"),
        ("After the release the last job said that all was well while the server showed its maintenance page",
         "After the release the last job said that all was well", "while the server showed its maintenance page"),
        ("Velotec sent the winter list and the margin column in the analysis of the buyers is full of outliers again",
         "Velotec sent the winter list and the margin column in the analysis…",
         "of the buyers is full of outliers again"),
        ('"sqlite3.OperationalError: database is locked" on each tablet',
         "sqlite3.OperationalError: database is locked on each tablet", ""),
        ("asdf", "asdf", ""),
        ("please", "please", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_a_title_is_the_first_clause_of_the_task(description, title, rest):
    assert task_title(description) == TaskTitle(title, rest)


@pytest.mark.parametrize("text", ["word " * 100, "x" * 400, "https://example.com/" * 20, "(" * 300, "?! " * 200])
def test_no_title_is_longer_than_its_limit(text):
    assert len(task_title(text).title) <= TITLE_CHARACTERS + 1


def test_titles_of_real_prompts_end_properly_and_begin_with_the_task(real_data: Path):
    prompts = {*real_prompts(real_data)}
    titles = {prompt: task_title(prompt[:400]).title for prompt in prompts}
    assert len(titles) > 500
    assert not [title for title in titles.values() if not 0 < len(title) <= TITLE_CHARACTERS + 1]
    assert not [title for title in titles.values() if title.lower().startswith(("from typing", "def ", "you are mia"))]
    assert sum(title.endswith("…") for title in titles.values()) < 0.4 * len(titles)  # of one long sentence
    for prompt, title in titles.items():
        assert " ".join(title.removesuffix("…").lower().split()) in " ".join(prompt.lower().split())


def real_prompts(directory: Path) -> Iterator[str]:
    """The tasks of airline customers, and those of programmers."""
    for attempt in read_attempts([directory / "tau_bench" / "gpt-4o-airline.json"], settings=Settings()):
        yield attempt.task.description
    for path in sorted((directory / "reflexion").glob("*_gpt4.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)["prompt"]


def test_the_text_after_a_title_shows_no_fences_of_code_blocks():
    task = task_title("SyntaxError: invalid syntax\nIt is run as follows:\n```python\nrun.py 1\n```\nIt stops.")
    assert task.rest == "It is run as follows: run.py 1 It stops."


def test_the_text_of_a_task_begins_with_a_capital_letter_after_what_is_left_out():
    assert task_text("You are ann_lee_12. You want to cancel your flight.\nTo Oslo.") == "Cancel your flight.\nTo Oslo."
    assert task_text("cancel my flight to Oslo") == "cancel my flight to Oslo"
