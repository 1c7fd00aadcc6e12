"""Where imports go: the experience memory, as one operation, each attempt once."""

from __future__ import annotations

from atlas.core.exchange import ExportedExperience
from atlas.core.types import Trajectory
from atlas.importers.rows import Item
from atlas.importers.run import AddCount
from atlas.memory.experience import ChromaExperienceMemory


class ExperienceSink:
    """Stores what an import reads; what the memory holds already, by content or by id, is skipped."""

    def __init__(self, experience: ChromaExperienceMemory, reason: str) -> None:
        self._experience = experience.within("import", reason)

    @property
    def operation_id(self) -> str | None:
        """The import as an operation of the history, once anything was added."""
        return self._experience.operation_id

    def add(self, items: list[Item], source: str) -> AddCount:
        """Store a batch."""
        attempts = [item for item in items if isinstance(item, Trajectory)]
        exported = [item for item in items if isinstance(item, ExportedExperience)]
        added = self._experience.store_many(attempts, skip_known=True) + self._experience.restore_many(exported)
        return AddCount(added=len(added), skipped=len(items) - len(added))
