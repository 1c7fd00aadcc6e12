"""What every memory offers for its records, waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.core.operations import Marks, TrashedRecord, Usage
from atlas.infra import aio
from atlas.memory.backing import PlainStore
from atlas.memory.records_async import AsyncRecordMemory
from atlas.protocols.infra import Where


class RecordMemory(AsyncRecordMemory):
    """The records of one collection. Each method has an async twin, whose docstring says more."""

    def browse(
        self,
        where: Where | None = None,
        *,
        order_by: str = "created_at",
        descending: bool = True,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Sync form of `abrowse`."""
        return aio.run(self.abrowse(where, order_by=order_by, descending=descending, limit=limit, offset=offset))

    def count(self, where: Where | None = None) -> int:
        """Sync form of `acount`."""
        return aio.run(self.acount(where))

    def values(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """Sync form of `avalues`."""
        return aio.run(self.avalues(key, where))

    def ids(self, where: Where | None = None) -> list[str]:
        """Sync form of `aids`."""
        return aio.run(self.aids(where))

    def column(self, key: str, where: Where | None = None) -> dict[str, Any]:
        """Sync form of `acolumn`."""
        return aio.run(self.acolumn(key, where))

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """Sync form of `atitles`."""
        return aio.run(self.atitles(ids))

    def counts_by_day(self, where: Where | None = None) -> dict[str, dict[str, int]]:
        """Sync form of `acounts_by_day`."""
        return aio.run(self.acounts_by_day(where))

    def never_retrieved(self, days: float) -> list[str]:
        """Sync form of `anever_retrieved`."""
        return aio.run(self.anever_retrieved(days))

    def stale(self, days: float) -> list[str]:
        """Sync form of `astale`."""
        return aio.run(self.astale(days))

    def delete(self, ids: Sequence[str]) -> int:
        """Sync form of `adelete`."""
        return aio.run(self.adelete(ids))

    def record_use(self, record_id: str, success: bool, *, task_id: str = "", trajectory_id: str = "") -> None:
        """Sync form of `arecord_use`."""
        aio.run(self.arecord_use(record_id, success, task_id=task_id, trajectory_id=trajectory_id))

    def marks(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Sync form of `amarks`."""
        return aio.run(self.amarks(ids))

    def mark(self, marks: Mapping[str, Marks]) -> None:
        """Sync form of `amark`."""
        aio.run(self.amark(marks))

    def change_marks(
        self,
        ids: Sequence[str],
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        pinned: bool | None = None,
        buried: bool | None = None,
        note: str | None = None,
    ) -> int:
        """Sync form of `achange_marks`."""
        change = self.achange_marks(
            ids, add_tags=add_tags, remove_tags=remove_tags, pinned=pinned, buried=buried, note=note
        )
        return aio.run(change)

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Sync form of `ausage`."""
        return aio.run(self.ausage(ids))

    def trash(self, limit: int = 50, offset: int = 0) -> list[TrashedRecord]:
        """Sync form of `atrash`."""
        return aio.run(self.atrash(limit, offset))

    def count_trash(self) -> int:
        """Sync form of `acount_trash`."""
        return aio.run(self.acount_trash())

    def purged(self, ids: Sequence[str]) -> set[str]:
        """Sync form of `apurged`."""
        return aio.run(self.apurged(ids))

    def restore(self, ids: Sequence[str]) -> int:
        """Sync form of `arestore`."""
        return aio.run(self.arestore(ids))

    def __len__(self) -> int:
        """How many records there are; `InvalidInput` for a plain vector store that cannot count."""
        return aio.run(self._store.n_records() if isinstance(self._store, PlainStore) else self._store.count())
