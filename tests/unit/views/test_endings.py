"""How an attempt ended, in one line."""

from __future__ import annotations

import pytest

import atlas
from atlas.testing import HashEmbedder
from atlas.views.trace.ending import ending_of, verdict_of
from tests.support.records import attempt

PROGRAM = "def day(zone):\n    return now(zone).date()\n"
PATCH = "--- a/src/day.py\n+++ b/src/day.py\n@@ -1,2 +1,3 @@\n-a = 1\n+a = 2\n+b\n c\n"
PATCHES = f"{PATCH}{PATCH.replace('day', 'week')}"
REMOVAL = "--- a/day.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a = 1\n"
FAILED_TEST = 'collected 3 items\nTraceback (most recent call last):\n  File "a.py"\nValueError: no such day\n1 failed'


def printing(output: str) -> atlas.Step:
    """A step with this output."""
    return atlas.Step(action="test", observation=output)


def answered(answer: str, by: str) -> atlas.Step:
    """A message that a speaker answered."""
    return atlas.Step(action="It is paid back.", observation=answer, metadata={"observation_from": by})


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"feedback": "\nThe keys\twere wrong.\nAsk first."}, "The keys were wrong."),
        ({"error": "timeout after 900 s", "feedback": "Slow."}, "Slow."),
        ({"error": "timeout after 900 s", "solution": "Done."}, "timeout after 900 s"),
        ({"steps": (printing(FAILED_TEST),), "success": False}, "ValueError: no such day"),
        ({"steps": (printing(FAILED_TEST),), "success": True}, "1 failed"),
        ({"solution": PATCH, "steps": (printing("7 rows"),)}, "changed day.py: 2 lines added, 1 removed"),
        ({"solution": PATCHES}, "changed day.py and 1 other file: 4 lines added, 2 removed"),
        ({"solution": REMOVAL}, "changed day.py: 0 lines added, 1 removed"),
        (
            {"solution": PATCH, "steps": (printing(FAILED_TEST),), "success": None},
            "changed day.py: 2 lines added, 1 removed",
        ),
        ({"solution": PATCH, "steps": (printing(FAILED_TEST),), "success": False}, "ValueError: no such day"),
        ({"solution": PROGRAM}, "wrote day(), 2 lines of Python"),
        ({"solution": PROGRAM, "steps": (printing("5 passed\n\n"),)}, "5 passed"),
        ({"solution": PROGRAM, "steps": (printing("7 rows\n3 4"),)}, "7 rows"),
        ({"solution": PROGRAM, "steps": (printing("[[0, 1]]"),)}, "wrote day(), 2 lines of Python"),
        ({"solution": PROGRAM, "steps": (printing("00000000: efbb bf"),)}, "wrote day(), 2 lines of Python"),
        ({"steps": (printing("[[0, 1]]"),)}, "[[0, 1]]"),
        ({"solution": "const Row = memo(function Row({ item }) {\n})"}, "2 lines of code"),
        ({"solution": "Lady Derailla it is."}, "Lady Derailla it is."),
        ({"solution": "# 31. Draw maps ourselves\n\nBecause."}, "31. Draw maps ourselves"),
        ({"steps": (atlas.Step(action="look around"),)}, "look around"),
        ({"solution": "It is paid back.", "steps": (answered("Thanks!", "user"),)}, "It is paid back."),
        ({"solution": "It is paid back.", "steps": (answered("12 paid", "tool pay"),)}, "12 paid"),
    ],
)
def test_the_end_is_what_tells_most(memory, given, line):
    (stored,) = memory.experience.store_many([attempt(**given)])
    assert ending_of(memory.experience.get(stored)) == line


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"feedback": f"The keys were wrong. {'Ask first. ' * 60}"}, "Feedback: The keys were wrong. Ask first."),
        ({"error": "timeout after 900 s"}, "Error: timeout after 900 s"),
        ({"solution": "Lady Derailla it is."}, "Lady Derailla it is."),
    ],
)
def test_a_verdict_names_its_source(memory, given, line):
    (stored,) = memory.experience.store_many([attempt(**given)])
    assert verdict_of(memory.experience.get(stored)).startswith(line)
    assert len(verdict_of(memory.experience.get(stored))) < 340
