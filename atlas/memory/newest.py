"""The newest records of a collection, also where several are of one instant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.memory.backing import PlainStore
from atlas.storage.vector_store import LedgerVectorStore

Row = dict[str, Any]


async def newest(store: LedgerVectorStore | PlainStore, where: Mapping[str, Any], limit: int) -> list[Row]:
    """Rows without vectors and content, newest first; of one instant, what was added last is the newest."""
    if limit <= 0:
        return []
    rows = await store.scan(where, order_by="created_at", descending=True, limit=limit)
    if len(rows) == limit:  # others of the last instant may have been added later than those that were read
        last = _instant(rows[-1])
        rows = [row for row in rows if _instant(row) > last]
        rows += await store.scan({**where, "created_at": last})
    last_added_first = rows[::-1]
    return sorted(last_added_first, key=_instant, reverse=True)[:limit]


def _instant(row: Row) -> str:
    at: str = row["metadata"]["created_at"]
    return at
