"""Plans to set outcomes of experiences, applied in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.codec import decode_experience
from atlas.core.tables import TableRow, Tabular
from atlas.core.types import Outcome
from atlas.memory.experience import extraction
from atlas.storage.collection import Collection
from atlas.storage.damage import decode_content
from atlas.storage.records import NO_MOMENT, Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeChange:
    """An experience whose outcome a plan would change."""

    id: str
    title: str
    """Title of the task. Untrusted text."""

    before: str
    """`succeeded`, `failed` or `unknown`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomePlan(Tabular):
    """A plan to set outcomes. Applying it makes exactly these changes, or fails if an experience has changed."""

    success: bool | None
    """The new outcome. None is for unknown."""

    changes: tuple[OutcomeChange, ...]
    n_same: int = 0
    """Number of chosen experiences that already have this outcome."""

    n_gone: int = 0
    moment: Moment = NO_MOMENT

    @property
    def label(self) -> str:
        """The new outcome: `succeeded`, `failed` or `unknown`."""
        return Outcome(self.success).label

    @property
    def reason(self) -> str:
        """The reason shown in the history."""
        return f"outcome {self.label}"

    def _caption(self) -> str:
        return f"{len(self.changes):,} outcomes would be set"

    def _rows(self) -> Iterator[TableRow]:
        for change in self.changes:
            yield {"experience": change.title, "outcome": change.before, "would be": self.label}


def plan_outcomes(store: Collection, ids: Sequence[str], success: bool | None) -> OutcomePlan:
    """Return a plan to set the same outcome for several experiences."""
    selected_ids, label = list(dict.fromkeys(ids)), Outcome(success).label
    with store.reading():
        moment, rows = store.moment(), store.get_without_content(selected_ids)
    changes = [
        OutcomeChange(id=row["id"], title=row["metadata"].get("title", ""), before=row["metadata"]["outcome"])
        for row in rows
        if row["metadata"]["outcome"] != label
    ]
    return OutcomePlan(
        success=success,
        changes=tuple(changes),
        n_same=len(rows) - len(changes),
        n_gone=len(selected_ids) - len(rows),
        moment=moment,
    )


def apply_outcomes(store: Collection, plan: OutcomePlan) -> int:
    """Set the planned outcomes, and return the number of changed experiences.

    Nothing is embedded again, because the outcome is not part of the embedded text.

    Raises:
        PlanOutdated: An experience has changed since; the store was not changed.
    """
    if not plan.changes:
        return 0
    ids = [change.id for change in plan.changes]
    store.check_unchanged(ids, plan.moment)
    rows = store.get(ids)
    store.update(
        [row["id"] for row in rows],
        [row["embedding"] for row in rows],
        [_with_outcome(row["metadata"], plan.success) for row in rows],
        [row["document"] for row in rows],
        unchanged_since=plan.moment,
    )
    return len(rows)


def _with_outcome(metadata: Mapping[str, Any], success: bool | None) -> dict[str, Any]:
    """Return the metadata of an experience with another outcome."""
    experience = decode_content(decode_experience, metadata)
    changed = replace(experience, outcome=replace(experience.outcome, success=success))
    summary = extraction.summarise(extraction.to_trajectory(changed), changed.feedback)
    # Keep the hash of the original attempt, so that importing it again finds the record.
    return {
        **extraction.to_metadata(replace(changed, trajectory_summary=summary)),
        "content_hash": metadata["content_hash"],
    }
