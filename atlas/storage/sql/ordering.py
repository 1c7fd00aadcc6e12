"""Sorting by a key: a page from its index, or filtered records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.storage.sql.connection import Connection, Dialect, Sql, clamp_rows
from atlas.storage.sql.filters import KEY, where_sql
from atlas.storage.sql.records import COLUMNS_WITHOUT_CONTENT


def read_sorted_seqs(
    connection: Connection, collection: str, key: str, *, descending: bool, limit: int, offset: int
) -> list[int]:
    """Return the numbers of a page of the live records that have a metadata key, sorted by its value."""
    dialect = connection.dialect
    rows = connection.execute(
        f"SELECT a.seq FROM attributes a WHERE a.key = {KEY} AND {_is_lowest_sql(dialect)} "
        f"ORDER BY {dialect.order_sql('a', 'DESC' if descending else 'ASC')}, a.seq LIMIT ? OFFSET ?",
        (collection, key, clamp_rows(limit), clamp_rows(offset)),
    ).fetchall()
    return [row[0] for row in rows]


def sorted_sql(
    dialect: Dialect,
    collection: str,
    where: Mapping[str, Any] | None,
    order_by: str,
    *,
    descending: bool,
    limit: int | None,
    offset: int,
) -> Sql:
    """Return the query for records sorted by a key, or by insertion, without vectors and content."""
    condition = where_sql(dialect, collection, where)
    direction = "DESC" if descending else "ASC"
    join, order = "", f"r.seq {direction}"
    join_parameters: tuple[str, ...] = ()
    if order_by:
        join = f"LEFT JOIN attributes a ON a.seq = r.seq AND a.key = {KEY} AND {_is_lowest_sql(dialect)}"
        order, join_parameters = f"a.seq IS NULL, {dialect.order_sql('a', direction)}, r.seq", (collection, order_by)
    return Sql(
        f"SELECT r.seq, {COLUMNS_WITHOUT_CONTENT} FROM records r {join} "
        f"WHERE {condition.text} ORDER BY {order} LIMIT ? OFFSET ?",
        (*join_parameters, *condition.parameters, clamp_rows(limit), clamp_rows(offset)),
    )


def _is_lowest_sql(dialect: Dialect) -> str:
    """Return the SQL condition that `a` is the lowest of a record's values."""
    is_lower = dialect.less_sql("b", "a")
    return f"NOT EXISTS (SELECT 1 FROM attributes b WHERE b.seq = a.seq AND b.key = a.key AND {is_lower})"
