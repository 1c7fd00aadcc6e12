"""Filters as SQL over the ledger's attributes, marks and usage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.filters import Combination, Comparison, Filter, Scalar, matches, parse_where
from atlas.storage.records import Seqs
from atlas.storage.sql.connection import Connection, Dialect, IntegerArray, Sql, TextArray
from atlas.storage.sql.usage import USAGE_COLUMNS, counted_usage_sql, total_sql

KEY = "(SELECT key FROM attribute_keys WHERE collection = ? AND name = ?)"
"""The number of a metadata key of a collection."""

BOOLEAN_MARKS = ("marks.pinned", "marks.buried")

SINGLE_TEXT_MARKS = ("marks.note", "marks.held_for", "marks.quarantine")
"""Marks with one text, which is empty for unmarked records."""

OPERATORS = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def where_sql(dialect: Dialect, collection: str, where: Mapping[str, Any] | None) -> Sql:
    """Return the SQL condition for the live records of a collection that pass a filter.

    Raises:
        InvalidInput: The filter is malformed.
    """
    return _live_condition_sql(dialect, collection, parse_where(where))


def matching_sql(dialect: Dialect, collection: str, where: Mapping[str, Any] | None) -> Sql:
    """Return the SQL that selects the `seq` of each live record of a collection that passes a filter."""
    tree = parse_where(where)
    from_attributes = _attributes_only_sql(dialect, collection, tree)
    if from_attributes is not None:
        return from_attributes
    condition = _live_condition_sql(dialect, collection, tree)
    return Sql(f"SELECT r.seq FROM records r WHERE {condition.text}", condition.parameters)


def read_matching_seqs(connection: Connection, collection: str, where: Mapping[str, Any] | None = None) -> Seqs:
    """Return the numbers of the live records that pass a filter."""
    query = matching_sql(connection.dialect, collection, where)
    # One text instead of a row for each: thousands of rows take longer to fetch than to find.
    row = connection.execute(f"SELECT group_concat(seq) FROM ({query.text}) seqs", query.parameters).fetchone()
    return np.fromstring(row[0] or "", np.int64, sep=",")


def _attributes_only_sql(dialect: Dialect, collection: str, tree: Filter) -> Sql | None:
    """Return a query of attributes only, without the records, or None if the filter also uses other values.

    Only live records have attributes, so the join is unnecessary. This halves the query's time.
    """
    if isinstance(tree, Comparison):
        is_attribute = tree.key != "id" and not tree.key.startswith(("marks.", "usage."))
        if not is_attribute:
            return None
        attribute = _attribute_seqs_sql(dialect, collection, tree)
        if tree.operator == "$eq":
            return attribute
        # A list has several rows.
        return Sql(f"SELECT DISTINCT seq FROM ({attribute.text}) several", attribute.parameters)
    queries = [_attributes_only_sql(dialect, collection, part) for part in tree.parts]
    parts = [query for query in queries if query is not None]
    if not parts or len(parts) < len(queries):
        return None
    separator = " INTERSECT " if tree.operator == "$and" else " UNION "
    return Sql(
        separator.join(f"SELECT seq FROM ({part.text})" for part in parts),
        tuple(parameter for part in parts for parameter in part.parameters),
    )


def _live_condition_sql(dialect: Dialect, collection: str, tree: Filter) -> Sql:
    """Return the SQL condition for the live records of a collection that pass a parsed filter."""
    condition = _condition_sql(dialect, collection, tree)
    return Sql(f"r.collection = ? AND r.deleted = 0 AND {condition.text}", (collection, *condition.parameters))


def _condition_sql(dialect: Dialect, collection: str, tree: Filter) -> Sql:
    if isinstance(tree, Comparison):
        return _comparison_sql(dialect, collection, tree)
    return _combination_sql(dialect, collection, tree)


def _combination_sql(dialect: Dialect, collection: str, tree: Combination) -> Sql:
    """Return the SQL condition of several filters that are combined with `$and` or `$or`."""
    parts = [_condition_sql(dialect, collection, part) for part in tree.parts]
    if not parts:
        return _constant_sql(tree.operator == "$and")
    separator = " AND " if tree.operator == "$and" else " OR "
    return Sql(f"({separator.join(part.text for part in parts)})", tuple(p for part in parts for p in part.parameters))


def _comparison_sql(dialect: Dialect, collection: str, comparison: Comparison) -> Sql:
    """Return the SQL condition of a comparison with an id, a mark, a usage count or a metadata value."""
    if comparison.key == "id":
        return _compare_sql("r.id", str, comparison)
    if comparison.key in BOOLEAN_MARKS:
        return _boolean_mark_sql(collection, comparison)
    if comparison.key.startswith("usage."):
        return _usage_sql(collection, comparison)
    if comparison.key.startswith("marks."):
        return _text_mark_sql(collection, comparison)
    attribute = _attribute_seqs_sql(dialect, collection, comparison)
    return Sql(f"r.seq IN ({attribute.text})", attribute.parameters)


def _attribute_seqs_sql(dialect: Dialect, collection: str, comparison: Comparison) -> Sql:
    """Return the query for the records with an attribute that passes a comparison."""
    test = dialect.comparison_sql(comparison)
    return Sql(
        f"SELECT seq FROM attributes WHERE key = {KEY} AND {test.text}",
        (collection, comparison.key, *test.parameters),
    )


def _boolean_mark_sql(collection: str, comparison: Comparison) -> Sql:
    """Return the SQL of a comparison with `marks.pinned` or `marks.buried`. Unmarked records count as False."""
    passes = {value: matches(comparison, {comparison.key: value}) for value in (True, False)}
    if passes[True] == passes[False]:
        return _constant_sql(passes[True])
    marked = _marked_seqs_sql(collection, comparison.key, Sql("TRUE", ()))
    return Sql(f"r.seq {'' if passes[True] else 'NOT '}IN ({marked.text})", marked.parameters)


def _text_mark_sql(collection: str, comparison: Comparison) -> Sql:
    """Return the SQL of a comparison with a text mark. Without the mark, a text is empty, and a tag matches nothing."""
    passes_unmarked = comparison.key in SINGLE_TEXT_MARKS and matches(comparison, {comparison.key: ""})
    test = _compare_sql("m.value", str, comparison)
    text = f"NOT ({test.text})" if passes_unmarked else test.text
    marked = _marked_seqs_sql(collection, comparison.key, Sql(text, test.parameters))
    return Sql(f"r.seq {'NOT ' if passes_unmarked else ''}IN ({marked.text})", marked.parameters)


def _marked_seqs_sql(collection: str, key: str, test: Sql) -> Sql:
    """Return the query for the records whose mark passes a test. `key` is `marks.` and the name of the mark."""
    return Sql(
        "SELECT k.seq FROM marks m CROSS JOIN records k ON k.collection = m.collection AND k.id = m.record_id "
        f"WHERE m.collection = ? AND m.name = ? AND {test.text}",
        (collection, key.removeprefix("marks."), *test.parameters),
    )


def _usage_sql(collection: str, comparison: Comparison) -> Sql:
    """Return the SQL condition that a usage count or time passes a comparison."""
    column = comparison.key.removeprefix("usage.")
    if column not in USAGE_COLUMNS:
        raise InvalidInput(
            f"expected one of {', '.join(f'usage.{c}' for c in USAGE_COLUMNS)} as a filter key, got {comparison.key!r}"
        )
    test = _compare_sql("total", int if column.startswith("n_") else str, comparison)
    usage = counted_usage_sql(collection)
    totals = f"SELECT u.counts_for, {total_sql(column)} AS total FROM ({usage.text}) u GROUP BY 1"
    # Unused records have no row. If 0 passes, select all records except those whose total does not pass.
    passes_unused = column.startswith("n_") and matches(comparison, {comparison.key: 0})
    ids = f"SELECT counts_for FROM ({totals}) t WHERE {'NOT ' if passes_unused else ''}({test.text})"
    text = f"r.id {'NOT ' if passes_unused else ''}IN ({ids})"
    return Sql(text, (*usage.parameters, *test.parameters))


def _compare_sql(column: str, kind: type[str] | type[int], comparison: Comparison) -> Sql:
    """Return the SQL condition that a column of texts or integers passes a comparison."""
    if comparison.operator == "$in":
        if kind is str:
            values: TextArray | IntegerArray = TextArray(value for value in comparison.value if isinstance(value, str))
        else:
            values = IntegerArray(int(value) for value in comparison.value if _fits_int64(value))
        return Sql(f"{column} IN (SELECT value FROM json_each(?))", (values,))
    if not isinstance(comparison.value, str if kind is str else int | float):
        return _constant_sql(False)
    return Sql(f"{column} {OPERATORS[comparison.operator]} ?", (to_bindable(comparison.value),))


def _fits_int64(value: Scalar) -> bool:
    """Return whether a value is a whole number of at most 64 bits."""
    return not isinstance(value, str) and abs(value) < 2**63 and float(value).is_integer()


def _constant_sql(is_true: bool) -> Sql:
    return Sql("TRUE" if is_true else "FALSE", ())


def to_bindable(value: Scalar) -> Scalar:
    """Return a value that SQLite can bind: whole numbers of more than 64 bits become the nearest float."""
    if not isinstance(value, int) or -(2**63) <= value < 2**63:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
