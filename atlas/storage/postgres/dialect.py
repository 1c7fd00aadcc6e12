"""PostgreSQL's SQL dialect. A value is a number, or a string in two columns, because indexes limit the length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from atlas.core.filters import Comparison, Scalar
from atlas.storage.postgres import postings
from atlas.storage.postgres.types import to_numeric
from atlas.storage.sql.connection import Connection, KeywordTables, Sql, TextArray
from atlas.storage.sql.filters import OPERATORS, to_bindable

INDEXED_CHARACTERS = 500
"""Number of characters of a string in an index. The rest is in a separate column, because index pages are small."""


_NUMBERED_TABLES = ("operations", "changes", "events")


class PostgresDialect:
    """The parts of SQL statements whose syntax differs between PostgreSQL and SQLite."""

    words: KeywordTables = postings

    def advance_sequences(self, connection: Connection) -> None:
        """Advance the sequences past the ids of the copied rows."""
        for table, column in (("records", "seq"), ("attribute_keys", "key"), *((t, "seq") for t in _NUMBERED_TABLES)):
            connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) FROM {table}"
            )

    def value_sql(self, a: str) -> str:
        """Return the SQL expression of a value as JSON, which preserves its type."""
        return f"coalesce(to_jsonb({self.text_sql(a)}), to_jsonb({a}.number))"

    def text_sql(self, a: str) -> str:
        """Return the SQL expression of a string value."""
        return f"({a}.value || {a}.rest)"

    def group_key_sql(self, a: str) -> str:
        """Return the SQL expression to group values by."""
        return f"{a}.value, {a}.rest, {a}.number"

    def order_sql(self, a: str, direction: str) -> str:
        """Return the SQL expression to order by. Texts come after every number."""
        nulls = "LAST" if direction == "ASC" else "FIRST"
        return f"{a}.number {direction} NULLS {nulls}, {a}.value {direction}, {a}.rest {direction}"

    def less_sql(self, a: str, b: str) -> str:
        """Return the SQL condition that one value sorts before another."""
        return (
            f"({a}.number < {b}.number OR ({a}.number IS NOT NULL AND {b}.number IS NULL) "
            f"OR ({a}.value, {a}.rest) < ({b}.value, {b}.rest))"
        )

    def equals_sql(self, a: str, b: str) -> str:
        """Return the SQL condition that two values are equal."""
        return f"({a}.number = {b}.number OR ({a}.value = {b}.value AND {a}.rest = {b}.rest))"

    def comparison_sql(self, comparison: Comparison) -> Sql:
        """Return the SQL condition that a value passes a comparison, such as `number > ?`."""
        if comparison.operator == "$in":
            return _in_list([to_bindable(value) for value in comparison.value])
        value = to_bindable(comparison.value)
        operator = OPERATORS[comparison.operator]
        if not isinstance(value, str):
            return Sql(f"number {operator} ?", (to_numeric(value),))
        first, rest = _split_text(value)
        if operator == "=":
            return Sql("value = ? AND rest = ?", (first, rest))
        # The first condition uses the index.
        return Sql(f"value {operator[0]}= ? AND (value, rest) {operator} (?, ?)", (first, first, rest))

    def put_attributes(self, connection: Connection, rows: Iterable[tuple[int, Any, int]]) -> None:
        """Insert attributes, given as (key, value, record number). NaN is skipped, as in SQLite."""
        connection.executemany(
            "INSERT INTO attributes (key, value, rest, number, seq) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(key, *_attribute_columns(value), seq) for key, value, seq in rows if value == value],
        )

    def delete_results(self, connection: Connection) -> None:
        """Delete the published results of jobs, which may contain purged texts."""
        connection.execute("DELETE FROM artefacts")

    def read_values(self, connection: Connection, condition: Sql) -> list[tuple[int, Any]]:
        """Return (record number, value) pairs of the rows of `attributes AS a` that match a condition."""
        rows = connection.execute(
            f"SELECT a.seq, {self.value_sql('a')} FROM attributes a WHERE {condition.text}", condition.parameters
        )
        return rows.fetchall()


def _attribute_columns(value: Scalar) -> tuple[Any, ...]:
    """Return the columns `value`, `rest` and `number` of an attribute."""
    return (*_split_text(value), None) if isinstance(value, str) else (None, "", to_numeric(value))


def _split_text(text: str) -> tuple[str, str]:
    """Return the beginning of a text, which is indexed, and its rest."""
    return text[:INDEXED_CHARACTERS], text[INDEXED_CHARACTERS:]


def _in_list(values: list[Scalar]) -> Sql:
    """Return the SQL condition that an attribute has one of these values."""
    texts = [value for value in values if isinstance(value, str)]
    numbers = [to_numeric(value) for value in values if not isinstance(value, str)]
    beginnings = TextArray(dict.fromkeys(text[:INDEXED_CHARACTERS] for text in texts))
    return Sql(
        "((value IN (SELECT value FROM json_each(?)) AND value || rest IN (SELECT value FROM json_each(?))) "
        "OR number = ANY(?::numeric[]))",
        (beginnings, TextArray(texts), numbers),
    )
