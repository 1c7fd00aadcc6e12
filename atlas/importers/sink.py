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
        n_added = self._add_attempts(attempts) + self._add_exported(exported)
        return AddCount(added=n_added, skipped=len(items) - n_added)

    def _add_attempts(self, attempts: list[Trajectory]) -> int:
        new: dict[str, Trajectory] = {}
        for content_hash, attempt in zip(self._experience.hashes(attempts), attempts, strict=True):
            new.setdefault(content_hash, attempt)
        known = self._experience.known(list(new))
        return len(self._experience.store_many([attempt for key, attempt in new.items() if key not in known]))

    def _add_exported(self, exported: list[ExportedExperience]) -> int:
        new = {item.experience.id: item for item in exported}
        held = {item.experience.id for item in self._experience.export(list(new))}
        missing = [item for record_id, item in new.items() if record_id not in held]
        if missing:
            self._experience.restore_many(missing)
        return len(missing)
