"""SQLite's dialect: one untyped column for strings and numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from atlas.core.filters import Comparison, Scalar
from atlas.storage.sql.connection import Connection, KeywordTables, Sql
from atlas.storage.sql.filters import OPERATORS, to_bindable
from atlas.storage.sqlite.words import fts_tables


class SqliteDialect:
    """SQLite's dialect. A value is in one untyped column, `value`."""

    words: KeywordTables = fts_tables

    def advance_sequences(self, connection: Connection) -> None:
        """Do nothing, because SQLite continues after the largest id."""

    def value_sql(self, a: str) -> str:
        """Return the SQL expression of a value."""
        return f"{a}.value"

    text_sql = group_key_sql = value_sql

    def order_sql(self, a: str, direction: str) -> str:
        """Return the SQL expression to order by. SQLite orders numbers before texts."""
        return f"{a}.value {direction}"

    def less_sql(self, a: str, b: str) -> str:
        """Return the SQL condition that one value sorts before another."""
        return f"{a}.value < {b}.value"

    def equals_sql(self, a: str, b: str) -> str:
        """Return the SQL condition that two values are equal."""
        return f"{a}.value = {b}.value"

    def comparison_sql(self, comparison: Comparison) -> Sql:
        """Return the SQL condition that a value passes a comparison."""
        if comparison.operator == "$in":
            return _in_list([to_bindable(value) for value in comparison.value])
        value = to_bindable(comparison.value)
        # SQLite orders strings above numbers, but only values of one type should be comparable.
        type_check = " AND typeof(value) = 'text'" if isinstance(value, str) else " AND typeof(value) <> 'text'"
        return Sql(
            f"value {OPERATORS[comparison.operator]} ?{type_check if comparison.operator != '$eq' else ''}", (value,)
        )

    def put_attributes(self, connection: Connection, rows: Iterable[tuple[int, Any, int]]) -> None:
        """Insert attributes, given as (key, value, record number)."""
        connection.executemany("INSERT OR IGNORE INTO attributes VALUES (?, ?, ?)", rows)

    def delete_results(self, connection: Connection) -> None:
        """Do nothing, because the results are files in the store's directory."""

    def read_values(self, connection: Connection, condition: Sql) -> list[tuple[int, Any]]:
        """Return (record number, value) pairs of the rows of `attributes AS a` that match a condition."""
        source = f"FROM attributes a WHERE {condition.text} AND typeof(a.value)"
        # Two JSON arrays, because fetching thousands of rows is slow. Floats are rows, as JSON would round them.
        numbers, values = connection.execute(
            f"SELECT json_group_array(a.seq), json_group_array(a.value) {source} <> 'real'", condition.parameters
        ).fetchone()
        floats = connection.execute(f"SELECT a.seq, a.value {source} = 'real'", condition.parameters).fetchall()
        return [*zip(json.loads(numbers), json.loads(values), strict=True), *floats]


def _in_list(values: Sequence[Scalar]) -> Sql:
    """Return the SQL condition that an attribute has one of these values."""
    # JSON has no limit on the number of values. Floats are passed in hexadecimal, because SQLite may round decimals.
    exact_values = [value for value in values if not isinstance(value, float)]
    floats = [value for value in values if isinstance(value, float)]
    condition = Sql("value IN (SELECT value FROM json_each(?))", (json.dumps(exact_values),))
    if not floats:
        return condition
    hexadecimal = json.dumps([value.hex() for value in floats])
    float_condition = "value IN (SELECT float_from_hex(value) FROM json_each(?))"
    return Sql(f"({condition.text} OR {float_condition})", (*condition.parameters, hexadecimal))
