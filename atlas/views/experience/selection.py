"""A selection of experiences: outcomes, a side-by-side comparison, a list and an export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from atlas.core.statistics import SuccessRate
from atlas.memory.system import MemorySystem
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.titles import task_title
from atlas.views.lists.selection import SelectionSummary, chosen_of
from atlas.views.shared.rates import rate_sentence
from atlas.views.shared.texts import Text, text_of
from atlas.views.shared.wording import counted, outcome_with_sign, utc_time_text

COMPARED = 4
"""Experiences that fit side by side."""

LISTED = 500
MANY = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonColumn:
    """One of a few experiences that are shown side by side. All texts are untrusted."""

    id: str
    outcome: str
    """Trusted text."""

    facts: str
    """Time and number of steps, as trusted text."""

    task: Text
    feedback: Text | None
    solution: Text | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRow:
    """One row of the list of selected experiences."""

    outcome: str
    task: str
    """Untrusted text."""

    id: str


def selection_summary(memory: MemorySystem, ids: Sequence[str], origin: str) -> SelectionSummary:
    """Return the current state of a selection.

    Args:
        ids: The selected experiences, some of which may be deleted.
        origin: Origin of the selection, as trusted text.
    """
    outcomes = _outcomes(memory, ids)
    present = tuple(record_id for record_id in ids if record_id in outcomes)
    rate = SuccessRate.of(Counter(outcomes[record_id] for record_id in present))
    return chosen_of(memory, EXPERIENCE, ids, present, rate_sentence(rate) if rate.n else "", origin)


def _outcomes(memory: MemorySystem, ids: Sequence[str]) -> dict[str, str]:
    """Return the outcomes of existing experiences, and maybe of others: reading all is faster than a large filter."""
    return memory.experience.column("outcome", {"id": {"$in": list(ids)}} if len(ids) <= MANY else None)


def comparison_columns(memory: MemorySystem, ids: Sequence[str]) -> tuple[ComparisonColumn, ...]:
    """Return the first few of these experiences, to be shown side by side."""
    found = [memory.experience.get(record_id) for record_id in ids[:COMPARED]]
    return tuple(
        ComparisonColumn(
            id=experience.id,
            outcome=outcome_with_sign(experience.outcome.label),
            facts=f"{utc_time_text(experience.created_at)} · {counted(len(experience.steps), 'step')}",
            task=Text(experience.task.description),
            feedback=text_of(experience.feedback),
            solution=text_of(experience.solution_output),
        )
        for experience in found
        if experience is not None
    )


def selection_rows(memory: MemorySystem, ids: Sequence[str]) -> tuple[SelectionRow, ...]:
    """Return the first of these experiences, as lines of a list."""
    listed = list(ids[:LISTED])
    titles = memory.experience.titles(listed)
    outcomes = memory.experience.column("outcome", {"id": {"$in": listed}})
    return tuple(
        SelectionRow(
            outcome=outcome_with_sign(outcomes.get(record_id, "unknown")),
            task=task_title(titles[record_id]).title,
            id=record_id,
        )
        for record_id in listed
        if record_id in titles
    )
