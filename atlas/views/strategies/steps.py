"""The suggestion of a strategy as a list of steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

STEPS_SHOWN = 40
"""Steps that a page draws one by one. A longer suggestion is shown as one text."""

_NUMBERED = re.compile(r"(?:\d{1,3}[.)]|[-*•])\s+(?=\S)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_CALL = re.compile(r"Call `(?P<name>\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A suggestion, taken apart. All texts are untrusted."""

    introduction: str
    """The text above the first numbered line. Empty if there is none."""

    steps: tuple[str, ...]
    """Without their numbers. The introduction and the steps together are the whole suggestion."""

    @property
    def summary(self) -> str:
        """`ask → get_user_details → say`, or the whole text where no step is a call."""
        if not any(_CALL.match(step) for step in self.steps):
            return " ".join((self.introduction, *self.steps)).strip()
        return " → ".join(name for name, _ in groupby(map(_step_name, self.steps)))


def steps_of(suggestion: str) -> Steps:
    """Return the steps of a suggestion: its numbered lines, or else its sentences."""
    lines = [line.strip() for line in suggestion.splitlines() if line.strip()]
    first = next((place for place, line in enumerate(lines) if _NUMBERED.match(line)), None)
    if first is None:
        return Steps(introduction="", steps=tuple(step for line in lines for step in _SENTENCE_END.split(line)))
    steps: list[str] = []
    for line in lines[first:]:
        if match := _NUMBERED.match(line):
            steps.append(line[match.end() :])
        else:  # a step of several lines
            steps[-1] += f"\n{line}"
    return Steps(introduction="\n".join(lines[:first]), steps=tuple(steps))


def _step_name(step: str) -> str:
    call = _CALL.match(step)
    return call["name"] if call else step.split(maxsplit=1)[0].rstrip(":").lower()
