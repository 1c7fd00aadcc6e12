"""Counting how an attempt went for the memories that it used."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from atlas.core.errors import NotFound
from atlas.core.types import Trajectory
from atlas.memory.attribution import Attribution
from atlas.memory.base.memory import Memory
from atlas.memory.context import SHORT_ID
from atlas.memory.outcomes import joined, told
from atlas.memory.plugged import Plugged
from atlas.storage.store import Store

logger = logging.getLogger(__name__)

AnyMemory = Memory[Any] | Plugged
"""One of ours, or one of somebody else's."""


@dataclass(slots=True)
class Counted:
    """What came of counting."""

    used: dict[str, list[str]] = field(default_factory=dict)
    """The ids that the outcome was counted for, by memory."""

    errors: dict[str, str] = field(default_factory=dict)
    """What could not be counted, and why, by memory; under `used` what no memory is to blame for."""


@dataclass(frozen=True, slots=True)
class UseCounter:
    """Counts the uses of a memory system's records."""

    memories: Mapping[str, AnyMemory]
    storage: Store | None

    def count(self, used: Attribution, trajectory: Trajectory, operation_id: str | None) -> Counted:
        """Count an attempt's outcome for what it used, as part of an operation; nothing where it is not known."""
        counted, success = Counted(), trajectory.outcome.success
        if success is None:
            return counted
        unknown, failed = list(used.unknown), list[dict[str, str]]()
        for name, record_id in ((name, one) for name, ids in used.used.items() for one in ids):
            try:
                if whole := self._count(name, record_id, success, trajectory, operation_id):
                    counted.used.setdefault(name, []).append(whole)
            except NotFound:  # deleted since it was retrieved
                unknown.append(record_id)
            except Exception as error:  # it costs this memory's part alone
                logger.warning("the memory %r counted no use of %r", name, record_id, exc_info=True)
                failed.append({name: told(error)})
        problems = list(used.problems)
        if unknown:
            problems.append(f"nothing that was retrieved for the task has the id {', '.join(map(repr, unknown))}")
        counted.errors = joined(*failed, *({"used": problem} for problem in problems))
        return counted

    def _count(
        self, name: str, record_id: str, success: bool, trajectory: Trajectory, operation_id: str | None
    ) -> str | None:
        """Return the whole id of what was used, of which a context block shows the beginning.

        None where the memory counts no uses.
        """
        memory = self.memories.get(name)
        if memory is None:
            raise NotFound(f"this memory system has no {name!r}")
        if not memory.counts_uses:
            return None
        record_id = self._whole_id(memory, record_id)
        scoped = memory.within("store", operation_id=operation_id) if operation_id else memory
        scoped.record_use(record_id, success, task_id=trajectory.task.id, trajectory_id=trajectory.id)
        return record_id

    def _whole_id(self, memory: AnyMemory, record_id: str) -> str:
        """Return the id that begins as a context block shows it; itself where none does, or several do."""
        if self.storage is None or len(record_id) != SHORT_ID:
            return record_id
        found = self.storage.ledger.ids_beginning(memory.collection_name, record_id)
        return found[0] if len(found) == 1 else record_id
