"""The uses of a record: the attempts that agents made with it, and how each went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from atlas.core.operations import Use as Use
from atlas.core.types import Outcome
from atlas.memory.strategy_sources import stored_attempts
from atlas.memory.system import MemorySystem
from atlas.views.kinds.columns import Column
from atlas.views.kinds.kind import Kind
from atlas.views.lists.queries import Row
from atlas.views.shared.wording import outcome_with_sign
from atlas.views.trace.ending import ending_of

MAX_USES = 500

MAX_ENDINGS = 50
"""Largest number of uses whose attempts are read in full."""

COLUMNS = (
    Column("outcomes", "Outcome", 115, "outcomes"),
    Column("task", "Task", 240, "task", below="ending"),
    Column("at", "When (UTC)", 135, "time"),
    Column("actor", "Who", 72, is_optional=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRow(Row):
    """A use of a record. Its id is its number, counted from 1, the oldest."""

    outcome: str
    at: datetime
    """Time in UTC."""

    task: str
    """Untrusted text."""

    ending: str
    """How the attempt ended, in one line of untrusted text. Empty if it is not stored, or not of the newest."""

    experience_id: str
    """The experience of the attempt, or empty if it is not stored."""

    actor: str

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Its outcome, as a table colours it."""
        return (self.outcome,)


def uses_of(memory: MemorySystem, kind: Kind, record_id: str) -> tuple[Use, ...]:
    """Return the uses of a record and of those merged into it, oldest first."""
    collection = kind.records(memory).collection_name
    return tuple(memory.storage.ledger.usage.uses(collection, [record_id])[record_id])


def use_rows(memory: MemorySystem, uses: Sequence[Use], limit: int = MAX_USES) -> tuple[UseRow, ...]:
    """Return the latest uses, newest first, each with the experience that remembers it.

    Args:
        uses: All of them, oldest first.
    """
    listed = list(enumerate(uses, start=1))[-limit:]
    attempts_by_id = stored_attempts(memory.experience, [use.trajectory_id for _, use in listed if use.trajectory_id])
    ids = {trajectory_id: experience.id for trajectory_id, experience in attempts_by_id.items()}
    titles = memory.experience.titles([*ids.values()])
    newest = [ids[use.trajectory_id] for _, use in listed[-MAX_ENDINGS:] if use.trajectory_id in ids]
    endings = {experience.id: ending_of(experience) for experience in memory.experience.get_many(newest)}
    return tuple(
        UseRow(
            id=str(number),
            outcome=outcome_with_sign(Outcome(use.success).label),
            at=use.at.astimezone(UTC),
            task=titles.get(ids.get(use.trajectory_id, ""), "") or use.task_id,
            ending=endings.get(ids.get(use.trajectory_id, ""), ""),
            experience_id=ids.get(use.trajectory_id, ""),
            actor=use.actor,
        )
        for number, use in reversed(listed)
    )
