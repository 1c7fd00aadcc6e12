"""The sink of imports: each item goes to the memory that takes it, all as one operation, each once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from atlas.core.exchange import ExportedConcept, ExportedExperience, ExportedStrategy
from atlas.core.types import CodeConcept, JournalEntry, Trajectory, Turn
from atlas.importers.formats.protea_logs import LogNames
from atlas.importers.rows import Item
from atlas.importers.run import AddCount
from atlas.infra.secrets import without_secrets
from atlas.memory.base.memory import Memory
from atlas.memory.experience.extraction import to_experience, to_metadata
from atlas.memory.system import MemorySystem


class MemorySink:
    """A store of what an import reads. Items that the memories hold already, by content or by id, are skipped."""

    def __init__(self, memory: MemorySystem, reason: str) -> None:
        self._experience = memory.experience.within("import", reason)
        self._memory, self._reason = memory, reason
        self._logs: LogNames | None = None
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
            (lambda: memory.experience, [item.experience.id for item in items if isinstance(item, ExportedExperience)]),
            (lambda: memory.concepts, [item.concept.id for item in items if isinstance(item, ExportedConcept)]),
            (lambda: memory.strategies, [item.strategy.id for item in items if isinstance(item, ExportedStrategy)]),
            (lambda: memory.journal, [item.id for item in items if isinstance(item, JournalEntry)]),
        ):
            n_purged += len(records().purged(ids)) if ids else 0
        return n_purged

    def _recognised(self, entries: list[JournalEntry]) -> list[JournalEntry]:
        """Return the entries of logs under the ids that the journal has them under."""
        if not entries:  # a system may be without a journal as long as nothing asks for it
            return []
        if self._logs is None:
            self._logs = LogNames(self._memory.journal)
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


MAX_SAMPLES = 3


class CountingSink:
    """A sink for previews. It counts the new records, by id and by the content of attempts."""

    def __init__(self, memory: MemorySystem | None) -> None:
        """Count against a memory, or against no memory."""
        self._memory = memory
        self._scrubs = memory is None or memory.storage.settings.scrub_secrets
        self._seen: set[str] = set()
        self._stored_hashes = set(memory.experience.values("content_hash")) if memory else set()
        self.samples: list[Item] = []
        """The first few of the items that would be added."""

    def add(self, items: list[Item], source: str) -> AddCount:
        """Count a batch."""
        new = [item for item in items if self._is_new(item)]
        self.samples += new[: MAX_SAMPLES - len(self.samples)]
        return AddCount(
            added=len(new),
            skipped=len(items) - len(new),
            added_concepts=sum(isinstance(item, CodeConcept | ExportedConcept) for item in new),
            added_entries=sum(isinstance(item, JournalEntry) for item in new),
            added_strategies=sum(isinstance(item, ExportedStrategy) for item in new),
            added_turns=sum(isinstance(item, Turn) for item in new),
        )

    def _is_new(self, item: Item) -> bool:
        names = {_id(item), *self._hashes(item)}
        if names & (self._seen | self._stored_hashes) or self._is_held(item):
            return False
        self._seen |= names
        return True

    def _hashes(self, item: Item) -> list[str]:
        """Return the content hash of an attempt, as the memory would store it."""
        if isinstance(item, ExportedExperience):
            return [item.content_hash or to_metadata(item.experience)["content_hash"]]
        if isinstance(item, Trajectory):
            clean = without_secrets(item) if self._scrubs else item
            experience = to_experience(clean, experience_id=item.id, embedding_text="", now=datetime.now(UTC))
            return [to_metadata(experience)["content_hash"]]
        return []

    def _is_held(self, item: Item) -> bool:
        if self._memory is None or isinstance(item, Trajectory):
            return False
        records, ids = _records(self._memory, item), [_id(item)]
        return bool(records.titles(ids) or records.purged(ids))


def _records(memory: MemorySystem, item: Item) -> Memory[Any]:
    """Return the memory that takes an item."""
    if isinstance(item, CodeConcept | ExportedConcept):
        return memory.concepts
    if isinstance(item, ExportedStrategy):
        return memory.strategies
    if isinstance(item, JournalEntry):
        return memory.journal
    return memory.conversations if isinstance(item, Turn) else memory.experience


def _id(item: Item) -> str:
    if isinstance(item, ExportedExperience):
        return item.experience.id
    if isinstance(item, ExportedConcept):
        return item.concept.id
    return item.strategy.id if isinstance(item, ExportedStrategy) else item.id
