"""The newest records of a collection, also if several are of one instant, or the clock was put back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.core.filters import matches, parse_where
from atlas.storage.collection import Collection

Row = dict[str, Any]

LOOKED_THROUGH = 4
"""How many times as many of the latest records are looked through, whatever they are, before those that pass a filter
are: the latest of all come straight from an index, and most filters are passed by many of them."""

AT_LEAST = 50


def newest(store: Collection, where: Mapping[str, Any], limit: int) -> list[Row]:
    """Return rows without vectors and content, newest first. Of one instant, what was added last is the newest."""
    if limit <= 0:
        return []
    n = LOOKED_THROUGH * max(limit, AT_LEAST)
    rows = store.scan(order_by="created_at", descending=True, limit=n)
    passes = parse_where(where)
    passing = [row for row in _whole_instants(rows, n) if matches(passes, row["metadata"])]
    if len(rows) == n and len(passing) < limit:
        instants = sorted(store.column("created_at", where).values(), reverse=True)[:limit]
        passing = store.scan({**where, "created_at": {"$gte": instants[-1]}}) if instants else []
    last_added_first = passing[::-1]
    return sorted(last_added_first, key=_instant, reverse=True)[:limit]


def place_after_all(store: Collection, at: str) -> str:
    """Return the sort key of a new record: never before existing ones, even if the clock went back."""
    latest = store.scan(order_by="created_at", descending=True, limit=1)
    return max([at, *map(_instant, latest)])


def _whole_instants(rows: Sequence[Row], n: int) -> list[Row]:
    """Return the rows without those of the last instant if there may be more, because n were asked for and came."""
    if len(rows) != n:
        return list(rows)
    last = min(map(_instant, rows))
    return [row for row in rows if _instant(row) > last]


def _instant(row: Row) -> str:
    at: str = row["metadata"]["created_at"]
    return at
