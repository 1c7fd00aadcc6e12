"""Filtering and sorting of rows for a store that can do neither."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from atlas.core.filters import matches, parse_where
from atlas.protocols.infra import Where


def list_rows(
    rows: Iterable[dict[str, Any]],
    where: Where | None = None,
    *,
    order_by: str = "",
    descending: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> list[dict[str, Any]]:
    """Return the rows that pass a filter, sorted by a metadata value. Rows without the value come last."""
    parsed_filter = parse_where(where)
    passing = [row for row in rows if matches(parsed_filter, row["metadata"] | {"id": row["id"]})]
    if order_by:
        rows_with_key = [row for row in passing if row["metadata"].get(order_by) is not None]
        other_rows = [row for row in passing if row["metadata"].get(order_by) is None]
        passing = sorted(rows_with_key, key=lambda row: row["metadata"][order_by], reverse=descending) + other_rows
    return passing[offset : None if limit is None else offset + limit]
