"""Errors of an attempt after which a later step passes: the same action, the same tests, or at least some tests.

Only the order of the steps is known, not the cause. So nothing is concluded from the outcome of the attempt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from atlas.core.types import Step
from atlas.views.trace.errors import LOOKED_AT

_FAILED = re.compile(
    r"^(?:FAILED|FAIL)\b|\b[1-9]\d* (?:fail(?:ed|ing|ures?)|errors?)\b|\bAssertionError\b", re.MULTILINE
)
"""Signs of a failing test in an output."""

_PASSED = re.compile(
    r"^[= ]*[1-9]\d* passed(?:, \d+ \w+)*(?: in [\d.]+ ?m?s\b.*)?[= ]*$"  # pytest
    r"|^\s*[1-9]\d* passing(?: \(\S+\))?$|^Tests:.*\b[1-9]\d* passed\b"  # Mocha, Jest
    r"|^OK(?: \(.*\))?$|^test result: ok\.|^PASS(?: \S+)?$",  # unittest, Cargo, Go
    re.MULTILINE,
)
"""The line with which a run of tests ends that pass."""

_FAILED_TEST = re.compile(r"^(?:FAILED|--- FAIL:) (\S+)", re.MULTILINE)
_PASSED_TEST = re.compile(r"^(?:(?:PASSED|--- PASS:) (?P<after>\S+)|(?P<before>\S+) PASSED\b)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LaterPass:
    """The first step after an error that passes."""

    step: int
    """Its number, counted from 1."""

    is_same: bool
    """True for the same action or a report on the same tests, false if the tests may be other ones."""

    mark: str
    """Text at the error: `error, passes in step 3`."""

    evidence: str
    """Sentence on what it reports, without text of the step."""


def later_passes(steps: Sequence[Step], errors: Collection[int]) -> Mapping[int, LaterPass]:
    """Return the steps that pass after errors, by the numbers of the steps with an error.

    Args:
        errors: Numbers of the steps with an error, counted from 1.
    """
    passes, passing = dict[int, LaterPass](), 0
    step_by_action, step_by_test = dict[str, int](), dict[str, int]()
    for number in range(len(steps), 0, -1):  # backwards, so that an error meets the first step after it
        action, output = steps[number - 1].action.strip(), steps[number - 1].observation[-LOOKED_AT:]
        is_failing = bool(_FAILED.search(output))
        if number in errors:
            again = step_by_action.get(action) if action else None
            later = _same_action(again) if again else _same_tests(output, step_by_test)
            if later or (is_failing and passing):
                passes[number] = later or _any_tests(passing)
        elif output.strip() and not is_failing:
            step_by_action[action] = number
            passing = number if _PASSED.search(output) else passing
        step_by_test |= {match["after"] or match["before"]: number for match in _PASSED_TEST.finditer(output)}
    return passes


def _same_action(step: int) -> LaterPass:
    return LaterPass(step, True, f"error, passes in step {step:,}", f"Step {step:,} does the same without an error.")


def _same_tests(output: str, step_by_test: Mapping[str, int]) -> LaterPass | None:
    """Return the step by which all failing tests of an output have passed."""
    steps = [step_by_test.get(test, 0) for test in _FAILED_TEST.findall(output)]
    if not steps or not all(steps):
        return None
    step = max(steps)
    return LaterPass(step, True, f"error, passes in step {step:,}", f"The same tests pass in step {step:,}.")


def _any_tests(step: int) -> LaterPass:
    return LaterPass(step, False, f"error; step {step:,} passes", f"Tests pass in step {step:,}, maybe other ones.")
