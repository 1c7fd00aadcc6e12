"""A trajectory as a conversation, a page of steps at a time, as the browser gets it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from atlas.core.types import Step
from atlas.views.shared.texts import LONG_CHARACTERS
from atlas.views.shared.wording import counted
from atlas.views.trace.cost import Cost
from atlas.views.trace.errors import has_error
from atlas.views.trace.passes import LaterPass, later_passes
from atlas.views.trace.turns import Turn, is_run, note_of, turns_of

MAX_STEPS = 100
"""Steps on one page."""

PAGE_CHARACTERS = 1_000_000
"""Maximum number of characters that are sent at first, for all texts of a page together."""

LEAST_CHARACTERS = 1_000
"""Number of characters of each text that are sent, however many texts there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The visible part of a trajectory, and the search in it."""

    at: int = 0
    """Step last jumped to, counted from 1, or 0 for none."""

    n_jumps: int = 0
    words: str = ""
    """The searched text."""

    whole: frozenset[str] = frozenset()
    """Long texts that are shown in full, each `step.turn`."""

    def jump_to(self, step: int) -> Reading:
        """Return the reading at another step."""
        return replace(self, at=step, n_jumps=self.n_jumps + 1)

    def search(self, words: str, steps: Sequence[Step]) -> Reading:
        """Return the reading at the first step that contains a text, or at the same step if there is none."""
        matches = steps_with(steps, words)
        reading = replace(self, words=words.strip())
        return reading.jump_to(matches[0]) if matches else reading

    def unfold(self, text: str) -> Reading:
        """Return the reading with one more text in full."""
        return replace(self, whole=self.whole | {text})


START = Reading()


def steps_with(steps: Sequence[Step], words: str) -> tuple[int, ...]:
    """Return the numbers of the steps that contain a text, ignoring case."""
    sought = words.strip().lower()
    if not sought:
        return ()
    return tuple(
        number
        for number, step in enumerate(steps, start=1)
        if any(sought in text.lower() for text in (step.thought, step.action, step.observation, str(step.metadata)))
    )


def conversation_as_json(steps: Sequence[Step], reading: Reading = START) -> dict[str, Any]:
    """Return one page of a trajectory for the browser: the page of the step that the user jumped to."""
    at = min(max(reading.at, 0), len(steps))
    first = (max(at, 1) - 1) // MAX_STEPS * MAX_STEPS
    shown = steps[first : first + MAX_STEPS]
    errors = [number for number, step in enumerate(steps, start=1) if has_error(step)]
    passes, in_run = later_passes(steps, {*errors}), is_run(steps)
    turns = [turns_of(step, in_run=in_run) for step in shown]
    limit = PAGE_CHARACTERS // max(sum(map(len, turns)), 1)
    limit = min(max(limit, LEAST_CHARACTERS), LONG_CHARACTERS)
    return {
        "n": len(steps),
        "first": first + 1,
        "last": first + len(shown),
        "summary": _summary(steps, len(errors), [*passes.values()]),
        "errors": errors,
        "words": reading.words,
        "matches": list(steps_with(steps, reading.words)),
        "at": at,
        "jump": reading.n_jumps,
        "steps": [
            _step(number, step, step_turns, passes.get(number), reading, limit)
            for number, (step, step_turns) in enumerate(zip(shown, turns, strict=True), start=first + 1)
        ],
    }


def _summary(steps: Sequence[Step], n_errors: int, passes: Sequence[LaterPass]) -> str:
    """Return `31 steps · 2 errors, 1 passes later · 1,991 tokens read`, or an empty string without steps."""
    if not steps:
        return ""
    errors = (f"{counted(n_errors, 'error')}{_passing(n_errors, passes)}",) if n_errors else ()
    return " · ".join((counted(len(steps), "step"), *errors, *Cost.sum(Cost.of(step.metadata) for step in steps).parts))


def _passing(n_errors: int, passes: Sequence[LaterPass]) -> str:
    """Return `, passes in step 3` of a single error, `, 1 passes later` of several, or an empty string."""
    if n_errors == 1 and passes:
        return f", {'passes' if passes[0].is_same else 'tests pass'} in step {passes[0].step:,}"
    n_passing = sum(each.is_same for each in passes)
    return f", {n_passing:,} {'passes' if n_passing == 1 else 'pass'} later" if n_passing else ""


def _step(
    number: int, step: Step, turns: Sequence[Turn], later: LaterPass | None, reading: Reading, limit: int
) -> dict[str, Any]:
    return {
        "number": number,
        "is_error": has_error(step),
        "passes": asdict(later) if later else None,
        "note": " · ".join(part for part in (note_of(step.metadata), *Cost.of(step.metadata).parts) if part),
        "turns": [_turn(turn, f"{number}.{index}", reading, limit) for index, turn in enumerate(turns)],
    }


def _turn(turn: Turn, key: str, reading: Reading, limit: int) -> dict[str, Any]:
    end = None if key in reading.whole else limit
    texts = [turn.text, *(value for _, value in turn.call.arguments)] if turn.call else [turn.text]
    n_cut = 0 if end is None else sum(max(len(text) - end, 0) for text in texts)
    return {
        "key": key,
        "role": turn.role,
        "speaker": turn.speaker,
        "form": turn.form,
        "text": turn.text[:end],
        "arguments": [[name, value[:end]] for name, value in turn.call.arguments] if turn.call else [],
        "summary": turn.call.summary if turn.call else "",
        "n_cut": n_cut,
        "n_characters": sum(map(len, texts)),
        "is_error": turn.is_error,
        "error_line": turn.error_line,
        "has_words": bool(reading.words) and turn.contains(reading.words),
    }
