"""Where imports go: each item to the memory that takes it, all as one operation, each once."""

from __future__ import annotations

from atlas.core.exchange import ExportedExperience
from atlas.core.types import CodeConcept, Trajectory
from atlas.importers.rows import Item
from atlas.importers.run import AddCount
from atlas.memory.system import MemorySystem


class MemorySink:
    """Stores what an import reads; what the memories hold already, by content or by id, is skipped."""

    def __init__(self, memory: MemorySystem, reason: str) -> None:
        self._experience = memory.experience.within("import", reason)
        self._concepts = memory.concepts.within("import", reason, operation_id=self._experience.operation_id)

    @property
    def operation_id(self) -> str | None:
        """The import as an operation of the history, once anything was added."""
        return self._experience.operation_id

    def add(self, items: list[Item], source: str) -> AddCount:
        """Store a batch."""
        attempts = [item for item in items if isinstance(item, Trajectory)]
        exported = [item for item in items if isinstance(item, ExportedExperience)]
        concepts = [item for item in items if isinstance(item, CodeConcept)]
        added = self._experience.store_many(attempts, skip_known=True) + self._experience.restore_many(exported)
        added_concepts = self._concepts.add_many(concepts)
        n_added = len(added) + len(added_concepts)
        return AddCount(added=n_added, skipped=len(items) - n_added, added_concepts=len(added_concepts))
