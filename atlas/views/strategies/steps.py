"""The suggestion of a strategy as a list of steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

MAX_STEPS = 40
"""Largest number of steps that are drawn one by one. A longer suggestion is shown as one text."""

_NUMBERED = re.compile(r"(?:\d{1,3}[.)]|[-*•])\s+(?=\S)")
_CALL = re.compile(r"Call `(?P<name>\w+)|(?:\w+ = )?(?P<code>\w+)\(|(?P<word>\w+):")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A parsed suggestion. All texts are untrusted."""

    introduction: str
    """The text above the first numbered line, or empty if there is none."""

    steps: tuple[str, ...]
    """Without their numbers. The introduction and the steps together are the whole suggestion."""

    @property
    def summary(self) -> str:
        """`ask → get_user_details → say` if each step is a call or begins with a word and a colon, else the text."""
        calls = [_CALL.match(step) for step in self.steps]
        if self.introduction or not all(calls):
            return " ".join((self.introduction, *self.steps)).strip()
        return " → ".join(name for name, _ in groupby(map(_call_name, filter(None, calls))))


def steps_of(suggestion: str) -> Steps:
    """Return the steps of a suggestion: its numbered lines, each with the indented ones below it, or else its lines."""
    lines = [line.rstrip() for line in suggestion.splitlines() if line.strip()]
    first = next((place for place, line in enumerate(lines) if _NUMBERED.match(line)), None)
    if first is None:
        return Steps(introduction="", steps=tuple(lines))
    steps: list[str] = []
    for line in lines[first:]:
        if match := _NUMBERED.match(line):
            steps.append(line[match.end() :])
        else:  # a step of several lines
            steps[-1] += f"\n{line}"
    return Steps(introduction="\n".join(lines[:first]), steps=tuple(steps))


def _call_name(call: re.Match[str]) -> str:
    return call["name"] or call["code"] or call["word"].lower()
