"""Errors of an attempt that a later step no longer has: tests that pass then, or the same action without an error.

Only the order of the steps is known, not the cause. So a repair is what a later output reports, and nothing is
concluded from the outcome of the attempt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from atlas.core.types import Step
from atlas.views.trace.errors import LOOKED_AT

_FAILED = re.compile(r"^(?:FAILED|FAIL)\b|\b[1-9]\d* fail(?:ed|ing|ures?)\b|\bAssertionError\b", re.MULTILINE)
"""Signs of a failing test in an output."""

_PASSED = re.compile(r"\b[1-9]\d* pass(?:ed|ing)\b|^OK(?: \(.*\))?$|^PASS\b", re.MULTILINE)
"""Signs of a passing test in an output."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The first step after an error that no longer has it."""

    step: int
    """Its number, counted from 1."""

    evidence: str
    """Sentence on what it reports, without text of the step."""


def repairs_of(steps: Sequence[Step], errors: Collection[int]) -> Mapping[int, Repair]:
    """Return where errors were repaired, by the numbers of the steps with an error.

    Args:
        errors: Numbers of the steps with an error, counted from 1.
    """
    repairs, passing = dict[int, Repair](), 0
    step_by_action = dict[str, int]()
    for number in range(len(steps), 0, -1):  # backwards, so that an error meets the first step after it
        action, output = steps[number - 1].action.strip(), steps[number - 1].observation[-LOOKED_AT:]
        if number not in errors:
            step_by_action[action] = number
            passing = number if _PASSED.search(output) and not _FAILED.search(output) else passing
        elif passing and _FAILED.search(output):
            repairs[number] = Repair(passing, f"The tests of step {passing:,} pass.")
        elif action and action in step_by_action:
            again = step_by_action[action]
            repairs[number] = Repair(again, f"Step {again:,} does the same without an error.")
    return repairs
