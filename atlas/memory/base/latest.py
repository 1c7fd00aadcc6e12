"""The newest records of a collection, in a stable order despite equal timestamps or a clock that was set back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.core.filters import matches, parse_where
from atlas.storage.collection import Collection

Row = dict[str, Any]

SCAN_FACTOR = 4
"""Overfetch factor of the unfiltered scan that runs before a filtered query.

The latest records come straight from an index, and most filters match many of them.
"""

MIN_LIMIT = 50
"""Smallest limit that the factor applies to."""


def newest_rows(store: Collection, where: Mapping[str, Any], limit: int) -> list[Row]:
    """Return rows without vectors and content, newest first. Of equal times, the last inserted row comes first."""
    if limit <= 0:
        return []
    n_scanned = SCAN_FACTOR * max(limit, MIN_LIMIT)
    rows = store.scan(order_by="created_at", descending=True, limit=n_scanned)
    condition = parse_where(where)
    matching_rows = [row for row in _drop_incomplete_time(rows, n_scanned) if matches(condition, row["metadata"])]
    if len(rows) == n_scanned and len(matching_rows) < limit:
        instants = sorted(store.column("created_at", where).values(), reverse=True)[:limit]
        matching_rows = store.scan({**where, "created_at": {"$gte": instants[-1]}}) if instants else []
    last_added_first = matching_rows[::-1]
    return sorted(last_added_first, key=_created_at, reverse=True)[:limit]


def next_sort_key(store: Collection, written_at: str) -> str:
    """Return the sort key of a new record. No existing key is greater, even if the clock was set back."""
    latest_rows = store.scan(order_by="created_at", descending=True, limit=1)
    return max([written_at, *map(_created_at, latest_rows)])


def _drop_incomplete_time(rows: Sequence[Row], n_scanned: int) -> list[Row]:
    """Return the rows without those of the oldest time, unless the scan returned all rows.

    A scan that reached its limit may have read only some of the rows of that time.
    """
    if len(rows) != n_scanned:
        return list(rows)
    oldest = min(map(_created_at, rows))
    return [row for row in rows if _created_at(row) > oldest]


def _created_at(row: Row) -> str:
    created_at: str = row["metadata"]["created_at"]
    return created_at
