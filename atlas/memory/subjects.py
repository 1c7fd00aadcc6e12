"""What pruning has to know of each record of a store, read a column at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from atlas.core.types import NO_USAGE, Usage
from atlas.memory.columns import Backing
from atlas.memory.pruning import PruneSubject


async def prune_subjects(store: Backing) -> list[PruneSubject]:
    """Every record of a store; one that keeps no such time was stored when it was attempted."""
    ids = await store.ids()
    columns = {name: await store.column(name) for name in ("title", "success", "created_at", "stored_at")}
    usage, marks = await store.usage(ids), await store.marks(ids)
    pinned = {record_id for record_id, held in marks.items() if held.pinned}
    lookups = {name: column.get for name, column in columns.items()}
    return [_subject(record_id, lookups, usage, record_id in pinned) for record_id in ids]


def _subject(
    record_id: str, lookups: Mapping[str, Callable[[str], Any]], usage: Mapping[str, Usage], pinned: bool
) -> PruneSubject:
    success, created_at = lookups["success"](record_id), lookups["created_at"](record_id)
    return PruneSubject(
        id=record_id,
        title=str(lookups["title"](record_id) or ""),
        success=None if success is None else bool(success),
        created_at=_instant(created_at),
        stored_at=_instant(lookups["stored_at"](record_id) or created_at),
        usage=usage.get(record_id, NO_USAGE),
        pinned=pinned,
    )


def _instant(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
