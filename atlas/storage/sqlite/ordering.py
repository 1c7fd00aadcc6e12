"""Records in the order of a key: a page straight from its index, or all that pass a filter, sorted."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from atlas.storage.sqlite.database import bounded
from atlas.storage.sqlite.filters import Sql, where_sql
from atlas.storage.sqlite.records import LIGHT_COLUMNS

_KEY = "(SELECT key FROM attribute_keys WHERE collection = ? AND name = ?)"

# A record with several values stands at its lowest.
_LOWEST = "NOT EXISTS (SELECT 1 FROM attributes b WHERE b.seq = a.seq AND b.key = a.key AND b.value < a.value)"


def ordered_page(
    connection: sqlite3.Connection, collection: str, key: str, *, descending: bool, limit: int, offset: int
) -> list[int]:
    """Return the numbers of live records that have the key, in its order, until the index ends."""
    direction = "DESC" if descending else "ASC"
    rows = connection.execute(
        f"SELECT a.seq FROM attributes a WHERE a.key = {_KEY} AND {_LOWEST} "
        f"ORDER BY a.value {direction}, a.seq LIMIT ? OFFSET ?",
        (collection, key, bounded(limit), bounded(offset)),
    ).fetchall()
    return [row[0] for row in rows]


def sorted_sql(
    collection: str,
    where: Mapping[str, Any] | None,
    order_by: str,
    *,
    descending: bool,
    limit: int | None,
    offset: int,
) -> Sql:
    """Return the query for light records sorted by a key, or as they were added. Those without the key come last."""
    condition = where_sql(collection, where)
    direction = "DESC" if descending else "ASC"
    join, order = "", f"r.seq {direction}"
    joined: tuple[str, ...] = ()
    if order_by:
        join = (
            f"LEFT JOIN (SELECT seq, min(value) AS value FROM attributes WHERE key = {_KEY} GROUP BY seq) a "
            "ON a.seq = r.seq"
        )
        order, joined = f"a.value IS NULL, a.value {direction}, r.seq", (collection, order_by)
    return Sql(
        f"SELECT r.seq, {LIGHT_COLUMNS} FROM records r {join} WHERE {condition.text} ORDER BY {order} LIMIT ? OFFSET ?",
        (*joined, *condition.parameters, -1 if limit is None else bounded(limit), bounded(offset)),
    )
