"""Operations of the history, and checks for changes since a moment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from itertools import chain
from typing import Any

from atlas.core.errors import NotFound, PlanOutdated
from atlas.core.operations import Operation, Operations
from atlas.storage.damage import parse_time
from atlas.storage.records import Moment, Origin
from atlas.storage.sql.connection import Connection, TextArray, clamp_rows
from atlas.storage.sql.meta import read_moment
from atlas.storage.sql.records import COUNTS, MARKS, RECORD

_WITH_TEXT = (
    "(lower(reason) LIKE lower(?) ESCAPE '!' OR id IN (SELECT c.operation FROM changes c JOIN records r "
    "ON r.collection = c.collection AND r.id = c.record_id WHERE lower(r.document) LIKE lower(?) ESCAPE '!'))"
)

_COLUMNS = f"id, kind, actor, created_at, reason, undoes, undone_by, {', '.join(COUNTS)}"


def read_operation(connection: Connection, operation_id: str) -> Operation:
    """Return an operation by its id or a unique prefix.

    Raises:
        NotFound: No operation, or several operations, match.
    """
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM operations WHERE substr(id, 1, ?) = ? LIMIT 2", (len(operation_id), operation_id)
    ).fetchall()
    if len(rows) != 1 or not operation_id:
        raise NotFound(
            f"{'no' if not rows else 'more than one'} operation has an id that begins with {operation_id!r}; "
            "see: atlas history"
        )
    return _decode_operation(rows[0])


def read_operations(connection: Connection, where: Operations, limit: int, offset: int) -> list[Operation]:
    """Return operations, newest first."""
    condition, values = _condition_sql(where)
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM operations WHERE {condition} ORDER BY seq DESC LIMIT ? OFFSET ?",
        (*values, clamp_rows(limit), clamp_rows(offset)),
    ).fetchall()
    return [_decode_operation(row) for row in rows]


def count_operations(connection: Connection, where: Operations) -> int:
    """Return the number of operations."""
    condition, values = _condition_sql(where)
    row = connection.execute(f"SELECT count(*) FROM operations WHERE {condition}", values).fetchone()
    return int(row[0])


def read_actors(connection: Connection) -> list[str]:
    """Return all actors, the most recent first."""
    rows = connection.execute("SELECT actor FROM operations GROUP BY actor ORDER BY max(seq) DESC")
    return [actor for (actor,) in rows]


def _condition_sql(where: Operations) -> tuple[str, list[Any]]:
    """Return the SQL condition for operations that pass a filter, and its parameters."""
    values = {
        "actor = ?": where.actor,
        "kind = ?": where.kind,
        "id IN (SELECT operation FROM changes WHERE collection IN (SELECT collection FROM word_tables) "
        "AND record_id = ?)": where.of,  # all collections, so that the index is used
        "created_at >= ?": where.since.astimezone(UTC).isoformat() if where.since else "",
    }
    conditions = {condition: [value] for condition, value in values.items() if value}
    if where.text:
        escaped = re.sub("[!%_]", r"!\g<0>", where.text)
        conditions[_WITH_TEXT] = [f"%{escaped}%"] * 2
    return " AND ".join(conditions) or "TRUE", list(chain.from_iterable(conditions.values()))


def read_collections(connection: Connection, operation_id: str) -> set[str]:
    """Return the collections whose records an operation touched."""
    operation = read_operation(connection, operation_id)
    rows = connection.execute("SELECT DISTINCT collection FROM changes WHERE operation = ?", (operation.id,))
    return {collection for (collection,) in rows}


def _check_same_ledger(connection: Connection, moment: Moment) -> None:
    """Raise `PlanOutdated` if the ledger has got a new id since `moment`, such as by a restore."""
    if read_moment(connection).ledger_id != moment.ledger_id:
        raise PlanOutdated(
            "the store has been restored, embedded again or purged of a record since it was read; nothing was done. "
            "Read it and plan again"
        )


def check_unchanged(connection: Connection, collection: str, moment: Moment) -> None:
    """Raise `PlanOutdated` if any record of a collection has changed since `moment`.

    Records that have been added since are ignored, because they are not part of the plan.
    """
    _check_same_ledger(connection, moment)
    row = connection.execute(
        "SELECT o.kind, o.id FROM changes c JOIN operations o ON o.id = c.operation "
        "WHERE c.seq > ? AND c.collection = ? AND c.before IS NOT NULL LIMIT 1",
        (moment.change, collection),
    ).fetchone()
    if row:
        raise PlanOutdated(
            f"the store has changed since the plan was made ({row[0]} {row[1][:8]}); nothing was done. Plan again"
        )


def check_records_unchanged(
    connection: Connection, collection: str, ids: Sequence[str], moment: Moment, *, with_marks: bool = False
) -> None:
    """Raise `PlanOutdated` if one of these records, or optionally its marks, has changed since `moment`."""
    _check_same_ledger(connection, moment)
    row = connection.execute(
        "SELECT record_id FROM changes WHERE collection = ? AND aspect IN (?, ?) AND seq > ? "
        "AND record_id IN (SELECT value FROM json_each(?)) LIMIT 1",
        (collection, RECORD, MARKS if with_marks else RECORD, moment.change, TextArray(ids)),
    ).fetchone()
    if row:
        raise PlanOutdated(
            f"the record {row[0]!r} has changed since it was read; nothing was done. Read it and change it again"
        )


def read_origins(connection: Connection, collection: str, ids: Sequence[str] | None = None) -> dict[str, Origin]:
    """Return who stored, edited and accepted each record, keyed by record id. Deleted records are included."""
    id_condition = "" if ids is None else "AND c.record_id IN (SELECT value FROM json_each(?)) "
    rows = connection.execute(
        "SELECT c.record_id, o.kind, o.actor FROM changes c JOIN operations o ON o.id = c.operation "
        f"WHERE c.collection = ? {id_condition}AND o.kind NOT IN ('restore', 'undo') AND "
        "(c.aspect = ? AND c.before IS NULL OR o.kind IN ('accept', 'edit') AND o.undone_by IS NULL) ORDER BY c.seq",
        (collection, *(() if ids is None else (TextArray(ids),)), RECORD),
    )
    origins: dict[str, Origin] = {}
    for record_id, kind, actor in rows.fetchall():
        origin = origins.setdefault(record_id, Origin(kind=kind, actor=actor))
        if kind == "accept":
            origins[record_id] = replace(origin, is_accepted=True, last_editor="")
        elif kind == "edit":
            origins[record_id] = replace(origin, last_editor=actor)
    return origins


def _decode_operation(row: tuple[Any, ...]) -> Operation:
    """Return the operation in a row of `_COLUMNS`."""
    operation_id, kind, actor, created_at, reason, undoes, undone_by, *counts = row
    return Operation(
        id=operation_id,
        kind=kind,
        actor=actor,
        created_at=parse_time(created_at),
        reason=reason,
        undoes=undoes,
        undone_by=undone_by,
        counts={name: count for name, count in zip(COUNTS, counts, strict=True) if count},
    )
