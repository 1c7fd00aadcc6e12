"""The uses of a ledger's records, and how often searches returned them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atlas.core.operations import Usage, Use
from atlas.protocols.infra import Clock
from atlas.storage.sqlite.database import Database
from atlas.storage.sqlite.tables import usage


class SqliteUsage:
    """The usage of the records of every collection."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def read(self, collection: str, ids: Sequence[str]) -> dict[str, Usage]:
        """Return what happened to each record, and to those that were merged into it."""
        return usage.read_usage(self._database, collection, ids)

    def uses(self, collection: str, ids: Sequence[str]) -> dict[str, list[Use]]:
        """Return each use of each record, and of those that were merged into it, oldest first."""
        return usage.read_uses(self._database, collection, ids)

    def record(
        self,
        collection: str,
        record_id: str,
        success: bool,
        *,
        task_id: str,
        actor: str,
        trajectory_id: str = "",
        operation_id: str = "",
    ) -> None:
        """Add one use and its outcome, durably. An attempt of which a use counts for the record adds none.

        Args:
            operation_id: The operation that it is part of, and with which it is undone.
        """
        at = self._clock.now()
        usage.record_use(
            self._database,
            at,
            collection,
            record_id,
            success,
            task_id=task_id,
            actor=actor,
            trajectory_id=trajectory_id,
            operation_id=operation_id,
        )

    def record_retrievals(self, retrievals: Mapping[str, Mapping[str, int]]) -> None:
        """Add to how often searches returned each record, by collection and record."""
        usage.record_retrievals(self._database, self._clock.now(), retrievals)
