"""Bulk reads of one value of each of many records, for maps, tables and counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.infra.actor import actor_scope, is_in_scope
from atlas.protocols.infra import Where
from atlas.storage.damage import UnreadableRow, parse_row
from atlas.storage.records import Seqs
from atlas.storage.sql.connection import Connection, Database, Dialect, IntegerArray, Sql, TextArray
from atlas.storage.sql.filters import KEY, matching_sql, read_matching_seqs, where_sql
from atlas.storage.sql.usage import USAGE_COLUMNS, counted_usage_sql, total_sql

MAX_LOOKUPS = 5_000
"""Maximum number of single lookups. For more records, an index scan is faster."""

MAX_PREDECESSORS = 64
"""Number of earlier records to search for predecessors with an equal value."""

_PREDECESSORS = """
    SELECT seq FROM attributes WHERE key = at.key AND (value, seq) < (at.value, at.seq)
    ORDER BY value DESC, seq DESC LIMIT ?
"""


class SqlColumns:
    """Bulk reads of one value of each of many records, without reading whole records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ids(self, collection: str, where: Where | None = None) -> list[str]:
        """Return the ids of the live records that pass a filter, in the order of insertion."""
        with self._database.read() as connection:  # one snapshot for both queries
            seqs = np.sort(read_matching_seqs(connection, collection, where)).tolist()
            ids_by_seq = _read_ids(connection, collection, seqs)
            return [ids_by_seq[seq] for seq in seqs]

    def column(self, collection: str, key: str, where: Where | None = None) -> dict[str, Any]:
        """Return the values of a metadata key, `stored_at` or `usage.…`, keyed by record id, without missing values.

        The value is a tuple if a record has several values. Booleans are 1 and 0, as in SQLite.
        """
        if key.startswith("usage."):
            return _read_usage(self._database, collection, key, where)
        if key == "stored_at":
            return _read_stored_at(self._database, collection, where)
        with self._database.read() as connection:
            rows = _read_values(connection, collection, key, where)
            ids_by_seq = _read_ids(connection, collection, [seq for seq, _ in rows])
            values = {ids_by_seq[seq]: value for seq, value in rows}
            return values if len(values) == len(rows) else _join_values((ids_by_seq[seq], value) for seq, value in rows)

    def keys(self, collection: str) -> set[str]:
        """Return the metadata keys of live records."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT name FROM attribute_keys k "
                "WHERE collection = ? AND EXISTS (SELECT 1 FROM attributes a WHERE a.key = k.key)",
                (collection,),
            ).fetchall()
        return {name for (name,) in rows}

    def predecessors(self, collection: str, seqs: Sequence[int], group_key: str, n_each: int) -> dict[int, list[int]]:
        """Return the records before each record that have the same value of a metadata key, nearest first.

        At most `n_each` are returned for a record, keyed by its number. Order is by `created_at`, then by time of
        adding. Only the last `MAX_PREDECESSORS` records before each are
        searched, which suffices for thirty concurrent conversations.
        """
        with self._database.read() as connection:
            is_same = connection.dialect.equals_sql("their", "own")
            rows = connection.execute(
                f"SELECT own.seq, (SELECT group_concat(seq) FROM (SELECT near.seq FROM ({_PREDECESSORS}) near "
                "CROSS JOIN attributes their "
                f"ON their.seq = near.seq AND their.key = own.key AND {is_same} LIMIT ?) predecessors) "
                "FROM json_each(?) numbers "
                f"CROSS JOIN attributes own ON own.seq = numbers.value AND own.key = {KEY} "
                f"CROSS JOIN attributes at ON at.seq = own.seq AND at.key = {KEY}",
                (MAX_PREDECESSORS, n_each, IntegerArray(seqs), collection, group_key, collection, "created_at"),
            ).fetchall()
        return {seq: [int(number) for number in (joined or "").split(",") if number] for seq, joined in rows}

    def titles(self, collection: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the titles of live records, keyed by id."""
        if len(ids) > MAX_LOOKUPS:
            titles = self.column(collection, "title")
        else:
            with self._database.read() as connection:
                rows = connection.execute(
                    f"SELECT r.id, {connection.dialect.text_sql('a')} FROM records r "
                    f"LEFT JOIN attributes a ON a.seq = r.seq AND a.key = {KEY} "
                    "WHERE r.collection = ? AND r.deleted = 0 AND r.id IN (SELECT value FROM json_each(?))",
                    (collection, "title", collection, TextArray(ids)),
                ).fetchall()
            titles = dict(rows)
        return {record_id: str(titles[record_id] or "") for record_id in ids if record_id in titles}

    def counts_by_day(self, collection: str, where: Where | None = None) -> dict[str, dict[str, int]]:
        """Return the number of records by UTC day of `created_at` and outcome. Days without records are left out."""
        with self._database.read() as connection:
            by_day = _group_seqs(connection, collection, "created_at", where, expression="substr(a.value, 1, 10)")
            by_outcome = _group_seqs(connection, collection, "outcome", where)
        outcomes = ["unknown", *by_outcome]
        newest_seq = max((int(seqs.max()) for seqs in (*by_day.values(), *by_outcome.values())), default=0)
        outcome_indices = np.zeros(newest_seq + 1, np.int64)  # of each record
        for index, seqs in enumerate(by_outcome.values(), 1):
            outcome_indices[seqs] = index
        return {day: _count_names(outcomes, outcome_indices[by_day[day]]) for day in sorted(by_day)}

    def beginnings(self, collection: str, seqs: Seqs, n_characters: int) -> list[tuple[str, str, str]]:
        """Return the id, the title and the first `n_characters` of the document of each live record in `seqs`."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT r.id, coalesce({connection.dialect.text_sql('a')}, ''), substr(r.document, 1, ?) "
                f"FROM records r LEFT JOIN attributes a ON a.seq = r.seq AND a.key = {KEY} "
                "WHERE r.deleted = 0 AND r.seq IN (SELECT value FROM json_each(?)) ORDER BY r.seq",
                (n_characters, collection, "title", IntegerArray(seqs.tolist())),
            ).fetchall()
        return [(record_id, str(title), beginning) for record_id, title, beginning in rows]


def check_unique(connection: Connection, collection: str, key: str, ids: Sequence[str]) -> None:
    """Raise `PlanOutdated` if one of these records has the same value of `key` as another live record.

    Records outside of the scope of the current actor do not count.
    """
    dialect, scope = connection.dialect, actor_scope()
    rows = connection.execute(
        f"SELECT other.id, {dialect.text_sql('other_value')}, other.metadata "
        "FROM records own JOIN attributes own_value ON own_value.seq = own.seq "
        "JOIN attributes other_value ON other_value.key = own_value.key "
        f"AND {dialect.equals_sql('other_value', 'own_value')} AND other_value.seq <> own_value.seq "
        "JOIN records other ON other.seq = other_value.seq AND other.deleted = 0 "
        f"WHERE own.collection = ? AND own.id IN (SELECT value FROM json_each(?)) AND own_value.key = {KEY}",
        (collection, TextArray(ids), collection, key),
    )
    duplicates = [
        (record_id, value) for record_id, value, metadata in rows.fetchall() if is_in_scope(scope, parse_row(metadata))
    ]
    if duplicates:
        record_id, value = duplicates[0]
        raise PlanOutdated(
            f"another record, {record_id!r}, already has the {key} {value!r}; nothing was written. "
            f"Read it, then choose another {key}"
        )


def _count_names(names: Sequence[str], indices: Seqs) -> dict[str, int]:
    """Return how often each name occurs, given the index of the name in `names` for each occurrence."""
    counts: Counter[str] = Counter()
    for name, count in zip(names, np.bincount(indices, minlength=len(names)).tolist(), strict=True):
        counts[name] += count
    return {name: counts[name] for name in sorted(counts) if counts[name]}


def _read_values(
    connection: Connection, collection: str, key: str, where: Mapping[str, Any] | None
) -> list[tuple[int, Any]]:
    """Return (record number, value) pairs of the records that pass a filter and have a metadata key."""
    condition, parameters = _filter_sql(connection.dialect, collection, where)
    attributes = Sql(f"a.key = {KEY} {condition}", (collection, key, *parameters))
    return connection.dialect.read_values(connection, attributes)


def _group_seqs(
    connection: Connection, collection: str, key: str, where: Mapping[str, Any] | None, expression: str = "a.value"
) -> dict[str, Seqs]:
    """Return the numbers of records, keyed by an SQL expression of their value of a metadata key."""
    condition, parameters = _filter_sql(connection.dialect, collection, where)
    rows = connection.execute(
        f"SELECT {expression}, group_concat(a.seq) FROM attributes a WHERE a.key = {KEY} {condition} GROUP BY 1",
        (collection, key, *parameters),
    )
    return {str(value): np.fromstring(seqs, np.int64, sep=",") for value, seqs in rows.fetchall()}


def _filter_sql(dialect: Dialect, collection: str, where: Mapping[str, Any] | None) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL condition that selects the attributes of records that pass a filter.

    Only live records have attributes.
    """
    if not where:
        return "", ()
    query = matching_sql(dialect, collection, where)
    return f"AND a.seq IN ({query.text})", query.parameters


def _read_usage(database: Database, collection: str, key: str, where: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values of a usage column such as `usage.n_uses`, keyed by record id, without missing values."""
    name = key.removeprefix("usage.")
    if name not in USAGE_COLUMNS:
        raise InvalidInput(
            f"expected one of {', '.join(f'usage.{c}' for c in USAGE_COLUMNS)} for a column, got {key!r}"
        )
    usage = counted_usage_sql(collection)
    with database.read() as connection:
        condition = where_sql(connection.dialect, collection, where)
        rows = connection.execute(
            f"SELECT r.id, {total_sql(name)} FROM ({usage.text}) u "
            "JOIN records r ON r.collection = u.collection AND r.id = u.counts_for "
            f"WHERE {condition.text} GROUP BY r.id HAVING {total_sql(name)} IS NOT NULL",
            (*usage.parameters, *condition.parameters),
        ).fetchall()
    return dict(rows)


def _read_stored_at(database: Database, collection: str, where: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the time at which each record was stored, keyed by record id."""
    with database.read() as connection:
        condition = where_sql(connection.dialect, collection, where)
        rows = connection.execute(
            f"SELECT r.id, r.stored_at FROM records r WHERE {condition.text} ORDER BY r.seq", condition.parameters
        )
        return dict(rows.fetchall())


class _IdsBySeq(dict[int, str]):
    """Record ids, keyed by record number. A missing number raises `UnreadableRow`."""

    def __missing__(self, seq: int) -> str:
        raise UnreadableRow(f"an index refers to record number {seq}, which does not exist")


def _read_ids(connection: Connection, collection: str, seqs: Sequence[int]) -> _IdsBySeq:
    """Return the ids of records, keyed by record number. For many numbers, the whole collection is read."""
    if len(seqs) <= MAX_LOOKUPS:
        rows = connection.execute(
            "SELECT seq, id FROM records WHERE seq IN (SELECT value FROM json_each(?))", (IntegerArray(seqs),)
        )
        return _IdsBySeq(rows.fetchall())
    numbers, ids = connection.execute(
        "SELECT json_group_array(seq), json_group_array(id) FROM records WHERE collection = ?", (collection,)
    ).fetchone()
    return _IdsBySeq(zip(json.loads(numbers), json.loads(ids), strict=True))


def _join_values(rows: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the value of each record, keyed by id: a tuple if the record has several values."""
    values: dict[str, list[Any]] = {}
    for record_id, value in rows:
        values.setdefault(record_id, []).append(value)
    return {
        record_id: values_of_record[0] if len(values_of_record) == 1 else tuple(values_of_record)
        for record_id, values_of_record in values.items()
    }
