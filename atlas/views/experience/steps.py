"""The steps of an attempt: one line per step with errors marked, and one step in full."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.core.types import Step
from atlas.views.lists.facts import Part, parts_of
from atlas.views.shared.texts import as_json, text_of
from atlas.views.shared.wording import shortened

STEPS_SHOWN = 20
"""Steps on one page."""

OPEN_UP_TO = 5
"""Maximum number of steps that are all expanded at first."""

SUMMARY_CHARACTERS = 150
LEAD_CHARACTERS = 50
"""Maximum characters before a search match."""

LOOKED_AT = 20_000
"""Characters at both ends of a text to search for an error."""

_ERROR = re.compile(
    r"^Traceback \(most recent call last\)|^(?:\w+\.)*\w*(?:Error|Exception)\b\s*(?::|$)|^\s*(?:error|fatal|panic)\s*:"
    r"|\bexit (?:code|status):? *[1-9]|\bcommand not found\b|\bNo such file or directory\b|\bpermission denied\b"
    r"|(?-i:^(?:FAILED|FAIL)\b)|\bsegmentation fault\b",
    re.IGNORECASE | re.MULTILINE,
)
_ERROR_KEYS = ("error", "is_error", "exception", "failed")
_STATUS_KEYS = ("exit_code", "returncode", "exit_status")


@dataclass(frozen=True, slots=True)
class StepView:
    """One turn of an attempt."""

    number: int
    """Number, from 1."""

    parts: tuple[Part, ...]
    """Thought, action, observation and metadata, those that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """One turn of an attempt on one line."""

    number: int
    """Number, from 1."""

    summary: str
    """The beginning of what was done, or the place of the words that were looked for: untrusted text."""

    is_error: bool
    """True if the observation reports a failure."""


def step_lines(steps: Sequence[Step], *, words: str = "", only_errors: bool = False) -> tuple[StepLine, ...]:
    """Return the steps that hold a text, in their order.

    Args:
        words: Text that any part of a step holds, in capitals or not. Empty for every step.
        only_errors: Whether only those with an error are wanted.
    """
    lines = (_line(number, step, words.strip()) for number, step in enumerate(steps, start=1))
    return tuple(line for line in lines if line is not None and (line.is_error or not only_errors))


def step_view(steps: Sequence[Step], number: int) -> StepView:
    """Return one step in full, counted from 1."""
    step = steps[number - 1]
    return StepView(
        number,
        parts_of(
            ("Thought", text_of(step.thought)),
            ("Action", text_of(step.action)),
            ("Observation", text_of(step.observation)),
            ("Metadata", as_json(step.metadata)),
        ),
    )


def has_error(step: Step) -> bool:
    """Return whether a step failed, by its metadata or its observation."""
    return _is_marked(step.metadata) or bool(
        _ERROR.search(step.observation[:LOOKED_AT]) or _ERROR.search(step.observation[LOOKED_AT:][-LOOKED_AT:])
    )


def neighbouring_error(errors: Sequence[int], number: int, *, is_next: bool) -> int | None:
    """Return the number of the next or previous error, cyclically."""
    if not errors:
        return None
    if is_next:
        return next((error for error in errors if error > number), errors[0])
    return next((error for error in reversed(errors) if error < number), errors[-1])


def _is_marked(metadata: Mapping[str, Any]) -> bool:
    statuses = (metadata.get(key) for key in _STATUS_KEYS)
    return any(bool(metadata.get(key)) for key in _ERROR_KEYS) or any(
        isinstance(status, int) and not isinstance(status, bool) and status != 0 for status in statuses
    )


def _line(number: int, step: Step, words: str) -> StepLine | None:
    texts = [step.action, step.thought, step.observation]
    line = next((text for text in texts if text.strip()), "")
    if words:
        match = next((text for text in [*texts, str(step.metadata or "")] if words.lower() in text.lower()), None)
        if match is None:
            return None
        line = match[max(0, match.lower().index(words.lower()) - LEAD_CHARACTERS) :]
    return StepLine(number=number, summary=_short(line), is_error=has_error(step))


def _short(text: str) -> str:
    line = " ".join(text[: 4 * SUMMARY_CHARACTERS].split())
    return shortened(line, SUMMARY_CHARACTERS)
