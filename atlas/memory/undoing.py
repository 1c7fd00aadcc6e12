"""The history of a memory system as its own methods, and undoing."""

from __future__ import annotations

from abc import ABC, abstractmethod

from atlas.core.operations import Operation, RecordChange
from atlas.storage.store import Store


class UndoableMemories(ABC):
    """The part of a memory system that tells what was done, and undoes it."""

    @property
    @abstractmethod
    def storage(self) -> Store:
        """The store that the memories share."""

    def revision(self) -> int:
        """Return a number that grows with every change to the store, by any process: what to key a cache on."""
        return self.storage.ledger.revision()

    def history(self, limit: int = 50, offset: int = 0) -> list[Operation]:
        """Return what was done to the store, newest first."""
        return self.storage.history(limit, offset)

    def operation(self, operation_id: str) -> Operation:
        """Return one operation, by its id or a beginning of it that no other shares, or `NotFound`."""
        return self.storage.operation(operation_id)

    def count_operations(self) -> int:
        """Return how many operations the history holds."""
        return self.storage.count_operations()

    def changes(self, operation_id: str, limit: int = 50, offset: int = 0) -> list[RecordChange]:
        """Return what an operation did to each record, in its order, field by field."""
        return self.storage.changes(operation_id, limit, offset)

    def undo(self, operation_id: str, *, reason: str = "") -> Operation:
        """Take an operation back, exactly. See `atlas.storage.sqlite.history.undo.undo` for when that is refused."""
        return self.storage.undo(operation_id, reason=reason)
