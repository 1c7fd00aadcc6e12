"""Formatting of attempts and experiences for prompts: delimited, and of limited length."""

from __future__ import annotations

from collections.abc import Mapping

from atlas.core.types import Experience, Step, Trajectory
from atlas.llm.structured_output import as_data

ATTEMPT_CHARACTERS = 24_000
"""Maximum characters of one attempt in a prompt, about 8,000 tokens."""


def attempt_as_data(trajectory: Trajectory, *, limit: int = ATTEMPT_CHARACTERS) -> str:
    """Return an attempt as a data section of a prompt, with task, steps, outcome and feedback."""
    outcome = trajectory.outcome
    parts = {
        "task": trajectory.task.description,
        "steps": "\n".join(_step(number, step) for number, step in enumerate(trajectory.steps, start=1)),
        "outcome": outcome.label + (f": {outcome.error_info}" if outcome.error_info else ""),
        "solution": str(trajectory.metadata.get("solution", "") or ""),
        "feedback": str(trajectory.metadata.get("feedback", "") or ""),
    }
    return as_data({name: text for name, text in parts.items() if text.strip()}, limit=limit)


def experience_as_text(experience: Experience) -> str:
    """Return an experience as text, with task, outcome, actions and feedback."""
    return as_fields(
        {
            "task": experience.task.description,
            "outcome": experience.outcome.label,
            "what was done": experience.solution_output,
            "feedback": experience.feedback,
        }
    )


def as_fields(texts: Mapping[str, str]) -> str:
    """Return a string with a line `name: text` for each non-blank text.

    Continuation lines are indented, so that a text cannot fake another field.
    """
    return "\n".join(": ".join((name, "\n  ".join(text.splitlines()))) for name, text in texts.items() if text.strip())


def _step(number: int, step: Step) -> str:
    fields = as_fields({"thought": step.thought, "action": step.action, "saw": step.observation})
    return f"{number}. " + fields.replace("\n", "\n   ")
