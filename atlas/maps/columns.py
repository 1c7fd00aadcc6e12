"""Cached columns of a memory. After changes, only the changed records are read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from atlas.memory.experience.memory import COLLECTION
from atlas.memory.system import MemorySystem

ReadColumn = Callable[[str], Mapping[str, Any]]
"""Function that returns the values of a metadata key, keyed by record id."""

MAX_CHANGED = 5_000
"""Largest number of changed records that are read one by one. For more, reading the whole column is faster."""


@dataclass(frozen=True, slots=True)
class _CachedColumn:
    values: Mapping[str, Any]
    ledger_id: str
    revision: int


@dataclass(slots=True)
class LiveColumns:
    """A cache of the experiences' columns that stays up to date with the store. See `memory.experience.column`."""

    memory: MemorySystem
    _cached: dict[str, _CachedColumn] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock)

    def read(self, key: str) -> Mapping[str, Any]:
        """Return the values of a metadata key, keyed by the experience's id.

        Columns of marks and usage are not cached, because their changes do not raise the revision of a record.
        """
        if key.startswith(("marks.", "usage.")):
            return self.memory.experience.column(key)
        with self._lock:
            position = self.memory.storage.ledger.position(COLLECTION)  # before reading: later changes are read again
            column = self._cached.get(key)
            if column is None or column.ledger_id != position.ledger_id:
                values: Mapping[str, Any] = self.memory.experience.column(key)
            elif column.revision == position.revision:
                return column.values
            else:
                values = self._update(key, column)
            self._cached[key] = _CachedColumn(values, position.ledger_id, position.revision)
            return values

    def _update(self, key: str, column: _CachedColumn) -> Mapping[str, Any]:
        """Return the values of a cached column after reading the changed records again."""
        changed = self.memory.storage.ledger.changed_ids(COLLECTION, column.revision, limit=MAX_CHANGED + 1)
        if len(changed) > MAX_CHANGED:
            return self.memory.experience.column(key)
        values = dict(column.values)
        for record_id in changed:
            values.pop(record_id, None)
        return values | self.memory.experience.column(key, {"id": {"$in": changed}})
