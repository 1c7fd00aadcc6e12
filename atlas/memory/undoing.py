"""Mixin of a memory system with history, undo, purge, withdrawal, scan, quarantine and frozen copies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas.core.operations import ANY_OPERATION, BulkUndo, Operation, Operations, RecordChange
from atlas.storage.history import Reword
from atlas.storage.store import Store

if TYPE_CHECKING:
    from atlas.memory.effects.quarantine import QuarantinedRecord
    from atlas.memory.effects.scan import Scan
    from atlas.memory.effects.withdrawal import Withdrawal
    from atlas.storage.maintenance.purge import PurgePlan, PurgeResult


class HistoryMixin(ABC):
    """Mixin of a memory system with a history of operations, undo, purge and quarantine."""

    @property
    @abstractmethod
    def storage(self) -> Store:
        """The store that the memories share."""

    @abstractmethod
    def _memory(self, name: str) -> Any:
        """Return the memory with a name, or None."""

    def revision(self) -> int:
        """Return a number that grows with every change to the store by any process. Caches use it as a key."""
        return self.storage.ledger.revision()

    def history(self, limit: int = 50, offset: int = 0, *, where: Operations = ANY_OPERATION) -> list[Operation]:
        """Return the operations on the store, newest first.

        Args:
            where: Filter of operations: by actor, kind, record or time.
        """
        return self.storage.history(limit, offset, where)

    def operation(self, operation_id: str) -> Operation:
        """Return the operation with an id or a unique prefix of an id, or raise `NotFound`."""
        return self.storage.operation(operation_id)

    def count_operations(self, where: Operations = ANY_OPERATION) -> int:
        """Return the number of operations in the history."""
        return self.storage.count_operations(where)

    def actors(self) -> list[str]:
        """Return all actors in the history, sorted by their latest operations, newest first."""
        return self.storage.ledger.history.actors()

    def changes(self, operation_id: str, limit: int = 50, offset: int = 0) -> list[RecordChange]:
        """Return the changes of records in an operation, field by field, in the order of the operation."""
        return self.storage.changes(operation_id, limit, offset)

    def plan_undo(self, where: Operations) -> BulkUndo:
        """Return a plan to undo all matching operations, for example all operations of an actor since a time.

        The store is not changed. Operations that later changes prevent from being undone are listed with the reason.
        """
        return self.storage.plan_undo(where)

    def apply_undo(self, where: Operations, plan: BulkUndo, *, reason: str = "") -> BulkUndo:
        """Undo the planned operations as one operation, which can be undone. `n_later` of the result counts newer ones.

        Raises:
            PlanOutdated: Some operations can no longer be undone as planned. The store was not changed.
        """
        return self.storage.apply_undo(where, plan, reason=reason)

    def undo(self, operation_id: str, *, reason: str = "") -> Operation:
        """Undo an operation exactly. `atlas.storage.sql.history.undo.undo` lists the reasons for a refusal."""
        return self.storage.undo(operation_id, reason=reason)

    def plan_purge(self, ids: Sequence[str], *, collection: str = "") -> PurgePlan:
        """Return a plan to purge records of any memory. See `atlas.storage.maintenance.purge`."""
        from atlas.storage.maintenance.purge import plan_purge

        return plan_purge(self.storage, ids, collection=collection)

    def apply_purge(self, plan: PurgePlan, *, reason: str = "") -> PurgeResult:
        """Erase exactly the records of a plan permanently, or raise `PlanOutdated`."""
        from atlas.storage.maintenance.purge import apply_purge

        return apply_purge(self.storage, plan, reason=reason, reword=self._reword_function())

    def plan_withdrawal(self, ids: Sequence[str], keep: Sequence[str] = ()) -> Withdrawal:
        """Return a plan to delete records with all derived records, such as strategies learned from an attempt.

        The plan's `reach` lists the tasks whose context would now contain any of these records. Up to 40 stored tasks
        are replayed.

        Args:
            ids: Ids of records in any memory.
            keep: Ids of derived records to keep. Records derived only from these are kept too.

        Raises:
            InvalidInput: There are no ids.
            NotFound: One of the ids does not exist.
        """
        from atlas.memory.effects.withdrawal import plan_withdrawal

        return plan_withdrawal(self, ids, keep)

    def apply_withdrawal(self, plan: Withdrawal, *, reason: str = "") -> str:
        """Delete the records of a plan as one operation, and return the operation's id.

        Each memory is changed in a transaction of its own, the requested records last. If one fails, the same request
        can be planned and applied again.

        Raises:
            PlanOutdated: A record has been derived, used, changed or deleted since.
        """
        from atlas.memory.effects.withdrawal import apply_withdrawal

        return apply_withdrawal(self, plan, reason=reason)

    def scan(self, ids: Sequence[str] | None = None, *, minimum: float = 0.5) -> Scan:
        """Return the records with signs of an attack on the agents that read them, worst first.

        The signs are orders to the reader, tool calls in prose, hidden characters and encoded text. A false statement
        in plain words has no signs. A scan of all records also finds bursts of one writer, records among the hits of
        many unrelated tasks, and strategies that contradict better proven ones.

        Args:
            ids: Ids of records in any memory, or None for all records.
            minimum: Minimum score of a finding, in [0, 1]. The score is the confidence that a record is an attack.

        Raises:
            InvalidInput: The minimum is not in [0, 1].
            NotFound: A record does not exist.
            NotAllowed: All records are to be scanned, and the actor is not a curator.
        """
        from atlas.memory.effects.scan import scan

        return scan(self, ids, minimum=minimum)

    def trust(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the trust class of each record, keyed by id: the lowest of the record's own and its sources' classes.

        The classes are `person`, `reviewed`, `agent`, `imported` and `untrusted`. See `atlas.memory.effects.trust`.

        Args:
            ids: Ids of records in any memory.

        Raises:
            NotFound: One of the ids does not exist.
        """
        from atlas.memory.effects.trust import trust_labels

        return trust_labels(self, ids)

    def quarantine(self, ids: Sequence[str], *, reason: str) -> str:
        """Put records into quarantine as one operation, and return the operation's id.

        No search, context block or map contains these records, and nothing is learned from them. The records stay
        listed with the reason, until `unquarantine` or an undo releases them.

        Args:
            ids: Ids of records in any memory.
            reason: Reason why agents must not find the records.

        Raises:
            InvalidInput: There are no ids, or the reason is empty.
            NotFound: One of the ids does not exist; nothing was changed.
            NotAllowed: The actor is not a curator.
        """
        from atlas.memory.effects.quarantine import quarantine

        return quarantine(self, ids, reason)

    def unquarantine(self, ids: Sequence[str], *, reason: str = "") -> str:
        """Release records from quarantine as one operation, and return the operation's id.

        Args:
            ids: Ids of records in any memory.
            reason: Reason to show in the history.

        Raises:
            InvalidInput: There are no ids.
            NotFound: One of the ids does not exist; nothing was changed.
            NotAllowed: The actor is not a curator.
        """
        from atlas.memory.effects.quarantine import unquarantine

        return unquarantine(self, ids, reason)

    def quarantined(self) -> tuple[QuarantinedRecord, ...]:
        """Return the records in quarantine with their reasons, memory by memory."""
        from atlas.memory.effects.quarantine import quarantined

        return quarantined(self)

    def freeze(self, name: str) -> Path:
        """Copy the store for guests, without deleted and pending records, and return the copy's directory.

        See `atlas.storage.maintenance.freeze` for the errors.
        """
        from atlas.storage.maintenance.freeze import freeze

        return freeze(self.storage, name, reword=self._reword_function())

    def _reword_function(self) -> Reword | None:
        from atlas.memory.journal.rewording import make_reword

        return make_reword(self._memory("journal"), self._memory("conversations"))
