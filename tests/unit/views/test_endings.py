"""How an attempt ended, in one line."""

from __future__ import annotations

import pytest

import atlas
from atlas.views.experience.ending import ending_of
from tests.support.records import attempt

FAILED_TEST = 'collected 3 items\nTraceback (most recent call last):\n  File "a.py"\nValueError: no such day\n1 failed'


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path, embedder=atlas.testing.HashEmbedder(), settings=atlas.Settings()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"feedback": "\nThe keys\twere wrong.\nAsk first."}, "The keys were wrong."),
        ({"error": "timeout after 900 s", "feedback": "Slow."}, "timeout after 900 s"),
        ({"steps": (atlas.Step(action="test", observation=FAILED_TEST),), "success": False}, "ValueError: no such day"),
        ({"steps": (atlas.Step(action="test", observation=FAILED_TEST),), "success": True}, "1 failed"),
        ({"solution": "def day(zone):\n    return now(zone).date()\n"}, "2 lines of Python"),
        ({"solution": "Lady Derailla it is."}, "Lady Derailla it is."),
        ({"steps": (atlas.Step(action="look around"),)}, "look around"),
    ],
)
def test_the_end_is_what_tells_most(memory, given, line):
    (stored,) = memory.experience.store_many([attempt(**given)])
    assert ending_of(memory.experience.get(stored)) == line
