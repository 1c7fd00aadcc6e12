"""The verdict on a store's searches: one sentence on the latest measurement, and advice."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.evaluation.foreign import SHIPPED
from atlas.evaluation.leave_one_out import OWN_TASK
from atlas.evaluation.metrics import FOUND_NOTHING
from atlas.evaluation.report import OwnEvaluation
from atlas.evaluation.tasks import AGENT

MANY_ANSWERED = 0.1
"""Share of foreign questions with an answer, from which searches should be stricter. The level is chosen for 0.03."""

MUCH_HIDDEN = 0.2
"""Share of attempts with empty results above which searches should be less strict."""

STRICTER, LESS_STRICT = "Make it stricter.", "Make it less strict."


@dataclass(frozen=True, slots=True)
class Verdict:
    """How well a store is searched, in words of our own."""

    sentence: str
    advice: str = ""
    """Empty if no change is advised."""


def verdict(found: OwnEvaluation) -> Verdict | None:
    """Return the verdict of a measurement, or None if neither attempts nor foreign questions could be measured."""
    first, nothing = _own_rate(found, "hit@1"), _own_rate(found, FOUND_NOTHING)
    foreign = next((result for result in found.report.foreign if result.source == SHIPPED), None)
    answered = foreign.told_something.get(AGENT) if foreign is not None else None
    parts = []
    if first is not None:
        parts.append(f"finds another attempt at the same task first in {100 * first:.0f} of 100")
    if answered is not None:
        parts.append(f"answers {100 * answered.mean:.0f} of 100 questions about what it does not hold")
    if not parts:
        return None
    sentence = " and ".join(parts)
    return Verdict(
        f"{sentence[:1].upper()}{sentence[1:]}.", _advice(answered.mean if answered else 0.0, nothing or 0.0)
    )


def _advice(answered: float, nothing: float) -> str:
    """Return the advice. Where both are bad, no strictness mends it."""
    if answered > MANY_ANSWERED and nothing <= MUCH_HIDDEN:
        return STRICTER
    return LESS_STRICT if nothing > MUCH_HIDDEN and answered <= MANY_ANSWERED else ""


def _own_rate(found: OwnEvaluation, measure: str) -> float | None:
    """Return a measure of the search for agents, on the store's own attempts."""
    task = next((task for task in found.report.tasks if task.name == OWN_TASK), None)
    row = next((row for row in task.rows if row.name == AGENT), None) if task is not None else None
    return row.estimates[measure].mean if row is not None else None
