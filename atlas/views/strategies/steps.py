"""The suggestion of a strategy as a list of steps."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_STEPS = 40
"""Largest number of steps that are drawn one by one. A longer suggestion is shown as one text."""

_NUMBERED = re.compile(r"(?:\d{1,3}[.)]|[-*•])\s+(?=\S)")
_SENTENCE_END = re.compile(r"(?<=\w)[.!?]\s+(?=[A-Z])")
_PUNCTUATED = re.compile(r"[.!?:;,…。：！？，；]$")  # noqa: RUF001  (full width, as in CJK)
_ABBREVIATIONS = {"approx", "cf", "dr", "e.g", "etc", "fig", "i.e", "mr", "mrs", "ms", "no", "prof", "st", "vs"}
_WORD_CHARACTERS = 20
"""Characters before the end of a sentence that are compared with the abbreviations, which are shorter."""

_QUOTES = '`“"('
"""Characters that may enclose several sentences. A text with one of them is not split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A parsed suggestion. All texts are untrusted."""

    introduction: str
    """The text above the first numbered line, or empty if there is none."""

    steps: tuple[str, ...]
    """Without their numbers. The introduction and the steps together are the whole suggestion."""

    @property
    def line(self) -> str:
        """The steps in one line: `Read the log. Raise the limit.`, with semicolons after what is no sentence."""
        *others, last = (" ".join(step.split()) for step in self.steps or ("",))
        return " ".join([*(text if _PUNCTUATED.search(text) else f"{text};" for text in others), last])


def steps_of(suggestion: str) -> Steps:
    """Return the steps of a suggestion: its numbered lines, else its lines, else the sentences of its only line.

    Indented lines belong to the step above them.
    """
    lines = [line.rstrip() for line in suggestion.splitlines() if line.strip()]
    first = next((number for number, line in enumerate(lines) if _NUMBERED.match(line)), None)
    if first is None:
        steps = _sentences(lines[0]) if len(lines) == 1 else _joined(lines, is_numbered=False)
        return Steps(introduction="", steps=tuple(steps))
    return Steps(introduction="\n".join(lines[:first]), steps=tuple(_joined(lines[first:], is_numbered=True)))


def _joined(lines: list[str], *, is_numbered: bool) -> list[str]:
    """Return each step: its first line, and the lines that continue it."""
    steps: list[str] = []
    for line in lines:
        match = _NUMBERED.match(line)
        if match or not steps or not (is_numbered or line[0].isspace()):
            steps.append(line[match.end() :] if match else line)
        else:
            steps[-1] += f"\n{line}"
    return steps


def _sentences(line: str) -> list[str]:
    if any(quote in line for quote in _QUOTES):
        return [line]
    ends = [match.end() for match in _SENTENCE_END.finditer(line) if not _is_abbreviation(line, match.start())]
    return [line[start:end].strip() for start, end in zip([0, *ends], [*ends, len(line)], strict=True)]


def _is_abbreviation(line: str, end: int) -> bool:
    """Return whether the word that ends at a position is an abbreviation."""
    return line[max(0, end - _WORD_CHARACTERS) : end].split()[-1].lower() in _ABBREVIATIONS
