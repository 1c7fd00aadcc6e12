"""Filters as SQL over the ledger's attributes, marks and usage."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.filters import Combine, Compare, Filter, Scalar, matches, parse_where
from atlas.storage.records import Seqs

USAGE_COLUMNS = ("n_uses", "n_successes", "last_used_at", "n_retrieved", "last_retrieved_at")

FIRST_TO_NAME = "NOT EXISTS (SELECT 1 FROM attributes e WHERE e.key = m.key AND e.value = m.value AND e.seq < m.seq)"
"""Condition that `m`, one id of a `merged_from`, is of the first live record that names it, for which alone it counts.

Two may name it where one that was merged into another was brought back beside it.
"""

_ABSORBED = (
    "JOIN records gone ON gone.collection = k.collection AND gone.id = m.value AND gone.deleted = 1 "
    f"WHERE n.collection = ? AND n.name = 'merged_from' AND {FIRST_TO_NAME}"
)

_REPEATED = (
    "SELECT collection, kept, seq, success FROM (SELECT m.collection, m.kept, e.seq, e.success, "
    "row_number() OVER (PARTITION BY m.kept, e.kind ORDER BY e.seq) AS nth FROM "
    "(SELECT collection, kept, gone AS member FROM absorbed UNION SELECT collection, kept, kept FROM absorbed) m "
    "CROSS JOIN events e ON e.collection = m.collection AND e.record_id = m.member "
    "WHERE e.undone = 0 AND e.kind <> 'use') "
    "WHERE nth > 1"
)
"""Uses by an attempt of which an earlier use counts for the same record: it used several that are one by now."""

TRUTHS = ("marks.pinned", "marks.buried")

_OPERATORS = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


@dataclass(frozen=True, slots=True)
class Sql:
    """A condition on `records AS r`, and its parameters."""

    text: str
    parameters: tuple[Any, ...]


def absorbed_sql(collection: str, ids: Sequence[str] | None = None) -> Sql:
    """Return the tables `absorbed` and `repeated`, to begin a query with, of all records of a collection or of some.

    `absorbed` has each deleted record, `gone`, with the one that it was merged into, `kept`: what is known of its use
    counts for that. `repeated` has the uses that then count twice. Nothing is moved by a merge, so undoing one, or
    restoring a record, brings every figure back.
    """
    columns = "SELECT k.collection, k.id AS kept, gone.id AS gone FROM attribute_keys n"
    if ids is None:
        absorbed = f"{columns} JOIN attributes m ON m.key = n.key JOIN records k ON k.seq = m.seq {_ABSORBED}"
    else:
        absorbed = (
            f"{columns} CROSS JOIN json_each(?) j CROSS JOIN records k ON k.collection = n.collection "
            f"AND k.id = j.value CROSS JOIN attributes m ON m.seq = k.seq AND m.key = n.key CROSS {_ABSORBED}"
        )
    parameters = (collection,) if ids is None else (json.dumps(list(ids)), collection)
    return Sql(f"WITH absorbed AS ({absorbed}), repeated AS ({_REPEATED})", parameters)


def counted_usage(collection: str, ids: Sequence[str] | None = None) -> Sql:
    """Return the query for usage to be summed, with the record that it counts for, `counts_for`.

    What is counted twice is taken off by rows below zero.
    """
    absorbed = absorbed_sql(collection, ids)
    among = "" if ids is None else "AND own.record_id IN (SELECT value FROM json_each(?)) "
    own = (collection,) if ids is None else (collection, json.dumps(list(ids)))
    return Sql(
        f"{absorbed.text} SELECT own.*, own.record_id AS counts_for FROM usage own WHERE own.collection = ? {among}"
        "UNION ALL SELECT u.*, a.kept FROM absorbed a "
        "CROSS JOIN usage u ON u.collection = a.collection AND u.record_id = a.gone "
        "UNION ALL SELECT collection, kept, -count(*), -sum(success), NULL, 0, NULL, kept FROM repeated GROUP BY kept",
        (*absorbed.parameters, *own),
    )


def where_sql(collection: str, where: Mapping[str, Any] | None) -> Sql:
    """Return the condition that holds for the live records of a collection that pass a filter.

    Raises:
        InvalidInput: The filter is malformed.
    """
    condition = _condition(collection, parse_where(where))
    return Sql(f"r.collection = ? AND r.deleted = 0 AND {condition.text}", (collection, *condition.parameters))


def matching_sql(collection: str, where: Mapping[str, Any] | None) -> Sql:
    """Return the query for the numbers, `seq`, of the live records of a collection that pass a filter."""
    from_attributes = _from_attributes(collection, parse_where(where))
    if from_attributes is not None:
        return from_attributes
    condition = where_sql(collection, where)
    return Sql(f"SELECT r.seq FROM records r WHERE {condition.text}", condition.parameters)


def read_matching(connection: sqlite3.Connection, collection: str, where: Mapping[str, Any] | None = None) -> Seqs:
    """Return the live records that pass a filter, by number."""
    query = matching_sql(collection, where)
    # One text instead of a row for each: thousands of rows take longer to fetch than to find.
    row = connection.execute(f"SELECT group_concat(seq) FROM ({query.text})", query.parameters).fetchone()
    return np.fromstring(row[0] or "", np.int64, sep=",")


def _from_attributes(collection: str, tree: Filter) -> Sql | None:
    """Return the query without a look at the records, which halves its time: only live ones have attributes.

    None where the filter asks for anything else than attributes.
    """
    if isinstance(tree, Compare):
        is_attribute = tree.key != "id" and not tree.key.startswith(("marks.", "usage."))
        return _attribute(collection, tree) if is_attribute else None
    parts = [part for part in (_from_attributes(collection, part) for part in tree.parts) if part is not None]
    if not parts or len(parts) < len(tree.parts):
        return None
    joint = " INTERSECT " if tree.operator == "$and" else " UNION "
    return Sql(
        joint.join(f"SELECT seq FROM ({part.text})" for part in parts),
        tuple(parameter for part in parts for parameter in part.parameters),
    )


def _condition(collection: str, tree: Filter) -> Sql:
    if isinstance(tree, Compare):
        return _comparison(collection, tree)
    return _combination(collection, tree)


def _combination(collection: str, tree: Combine) -> Sql:
    parts = [_condition(collection, part) for part in tree.parts]
    if not parts:
        return Sql("1" if tree.operator == "$and" else "0", ())
    joint = " AND " if tree.operator == "$and" else " OR "
    return Sql(f"({joint.join(part.text for part in parts)})", tuple(p for part in parts for p in part.parameters))


def _comparison(collection: str, compare: Compare) -> Sql:
    if compare.key == "id":
        return _id(compare)
    if compare.key in TRUTHS:
        return _truth(collection, compare)
    if compare.key.startswith("usage."):
        return _usage(collection, compare)
    if compare.key.startswith("marks."):
        marked = _marked(collection, compare.key, _test("m.value", compare))
        return Sql(f"r.seq IN ({marked.text})", marked.parameters)
    attribute = _attribute(collection, compare)
    return Sql(f"r.seq IN ({attribute.text})", attribute.parameters)


def _attribute(collection: str, compare: Compare) -> Sql:
    test = _test("value", compare)
    return Sql(
        "SELECT seq FROM attributes WHERE key = "
        f"(SELECT key FROM attribute_keys WHERE collection = ? AND name = ?) AND {test.text}",
        (collection, compare.key, *test.parameters),
    )


def _id(compare: Compare) -> Sql:
    """Return ids are texts. SQLite would find "5" for the number 5, as the column says that it holds texts."""
    if compare.operator == "$in":
        texts = tuple(value for value in compare.value if isinstance(value, str))
        return _test("r.id", Compare(compare.key, "$in", texts))
    return _test("r.id", compare) if isinstance(compare.value, str) else Sql("0", ())


def _truth(collection: str, compare: Compare) -> Sql:
    """Return every record is pinned, or buried, or not, also one that nobody has marked."""
    passes = {held: matches(compare, {compare.key: held}) for held in (True, False)}
    if passes[True] == passes[False]:
        return Sql(str(int(passes[True])), ())
    marked = _marked(collection, compare.key, Sql("m.value = 1", ()))
    return Sql(f"r.seq {'' if passes[True] else 'NOT '}IN ({marked.text})", marked.parameters)


def _marked(collection: str, key: str, test: Sql) -> Sql:
    return Sql(
        "SELECT k.seq FROM marks m CROSS JOIN records k ON k.collection = m.collection AND k.id = m.record_id "
        f"WHERE m.collection = ? AND m.name = ? AND {test.text}",
        (collection, key.removeprefix("marks."), *test.parameters),
    )


def _usage(collection: str, compare: Compare) -> Sql:
    column = compare.key.removeprefix("usage.")
    if column not in USAGE_COLUMNS:
        raise InvalidInput(
            f"unknown filter key {compare.key!r}; known: {', '.join(f'usage.{c}' for c in USAGE_COLUMNS)}"
        )
    test = _test("total", compare)
    counted = counted_usage(collection)
    totals = f"SELECT u.counts_for, {total_sql(column)} AS total FROM ({counted.text}) u GROUP BY 1"
    # A record that nobody used has no row: where it passes, all do but those whose total does not.
    passes_unused = column.startswith("n_") and matches(compare, {compare.key: 0})
    listed = f"SELECT counts_for FROM ({totals}) WHERE {'NOT ' if passes_unused else ''}({test.text})"
    text = f"r.id {'NOT ' if passes_unused else ''}IN ({listed})"
    return Sql(text, (*counted.parameters, *test.parameters))


def total_sql(column: str) -> str:
    """Return what a column of `usage AS u` amounts to over several records: a sum, or the last time."""
    return f"coalesce(sum(u.{column}), 0)" if column.startswith("n_") else f"max(u.{column})"


def _test(column: str, compare: Compare) -> Sql:
    if compare.operator == "$in":
        return _any_of(column, [bindable(value) for value in compare.value])
    value = bindable(compare.value)
    # SQLite orders every text above every number; a comparison should only hold within one kind.
    bound = " AND typeof({0}) = 'text'" if isinstance(value, str) else " AND typeof({0}) <> 'text'"
    kind = bound.format(column) if compare.operator != "$eq" else ""
    return Sql(f"{column} {_OPERATORS[compare.operator]} ?{kind}", (value,))


def _any_of(column: str, values: Sequence[Scalar]) -> Sql:
    # As JSON there may be any number of them; floats go in hexadecimal, as SQLite might round what it reads in decimal.
    plain = [value for value in values if not isinstance(value, float)]
    floats = [value for value in values if isinstance(value, float)]
    listed = Sql(f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(plain),))
    if not floats:
        return listed
    hexadecimal = json.dumps([value.hex() for value in floats])
    exact = f"{column} IN (SELECT float_from_hex(value) FROM json_each(?))"
    return Sql(f"({listed.text} OR {exact})", (*listed.parameters, hexadecimal))


def bindable(value: Scalar) -> Scalar:
    """Return a value as SQLite can hold and compare it: whole numbers of more than 64 bits become the nearest float."""
    if not isinstance(value, int) or -(2**63) <= value < 2**63:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
