"""The sink of imports: each item goes to the memory that takes it, all as one operation, each once."""

from __future__ import annotations

from atlas.core.exchange import ExportedConcept, ExportedExperience, ExportedStrategy
from atlas.core.types import CodeConcept, JournalEntry, Trajectory, Turn
from atlas.importers.formats.protea_logs import KnownLogs
from atlas.importers.rows import Item
from atlas.importers.run import AddCount
from atlas.memory.system import MemorySystem


class MemorySink:
    """A store of what an import reads. Items that the memories hold already, by content or by id, are skipped."""

    def __init__(self, memory: MemorySystem, reason: str) -> None:
        self._experience = memory.experience.within("import", reason)
        self._memory, self._reason = memory, reason
        self._logs: KnownLogs | None = None
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
        exported_concepts = [item for item in items if isinstance(item, ExportedConcept)]
        strategies = [item for item in items if isinstance(item, ExportedStrategy)]
        entries = self._recognised([item for item in items if isinstance(item, JournalEntry)])
        added = self._experience.store_many(attempts, skip_known=True) + self._experience.restore_many(exported)
        added_concepts = self._concepts.add_many(concepts) + self._concepts.restore_many(exported_concepts)
        added_entries, added_strategies = self._add_entries(entries), self._add_strategies(strategies)
        added_turns = self._add_turns([item for item in items if isinstance(item, Turn)])
        n_added = sum(map(len, (added, added_concepts, added_entries, added_strategies, added_turns)))
        return AddCount(
            added=n_added,
            skipped=len(items) - n_added,
            added_concepts=len(added_concepts),
            added_entries=len(added_entries),
            added_strategies=len(added_strategies),
            added_turns=len(added_turns),
            purged=self._n_purged([*items, *entries]),
        )

    def _n_purged(self, items: list[Item]) -> int:
        """Return how many of the items have the id of a record that was purged."""
        memory, n_purged = self._memory, 0
        for records, ids in (
            (lambda: memory.experience, [one.experience.id for one in items if isinstance(one, ExportedExperience)]),
            (lambda: memory.concepts, [one.concept.id for one in items if isinstance(one, ExportedConcept)]),
            (lambda: memory.strategies, [one.strategy.id for one in items if isinstance(one, ExportedStrategy)]),
            (lambda: memory.journal, [one.id for one in items if isinstance(one, JournalEntry)]),
        ):
            n_purged += len(records().purged(ids)) if ids else 0
        return n_purged

    def _recognised(self, entries: list[JournalEntry]) -> list[JournalEntry]:
        """Return the entries of logs under the ids that the journal has them under."""
        if not entries:  # a system may be without a journal as long as nothing asks for it
            return []
        if self._logs is None:
            self._logs = KnownLogs(self._memory.journal)
        return self._logs.recognised(entries)

    def _add_entries(self, entries: list[JournalEntry]) -> list[str]:
        if not entries:
            return []
        journal = self._memory.journal.within("import", self._reason, operation_id=self._experience.operation_id)
        return journal.add_entries(entries)

    def _add_strategies(self, strategies: list[ExportedStrategy]) -> list[str]:
        if not strategies:  # as with a journal
            return []
        bank = self._memory.strategies.within("import", self._reason, operation_id=self._experience.operation_id)
        return bank.restore_many(strategies)

    def _add_turns(self, turns: list[Turn]) -> list[str]:
        if not turns:
            return []
        scoped = self._memory.conversations.within("import", self._reason, operation_id=self._experience.operation_id)
        return scoped.add_turns(turns)
