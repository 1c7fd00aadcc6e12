"""Operations on a store, and each touched record as it was before.

Every writing transaction names its operation; the first change creates the operation's row and later ones add to it, so
that an import of many batches is one operation, and what was committed before a crash can still be undone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from atlas.core.errors import NotFound, PlanOutdated
from atlas.core.operations import Operation
from atlas.core.types import Vectors
from atlas.storage.records import Moment, OperationDraft
from atlas.storage.sqlite.database import bounded
from atlas.storage.sqlite.tables.stored import instant, parsed
from atlas.storage.sqlite.tables.tombstones import GONE

COUNTS = ("added", "changed", "removed", "marked")

RECORD = "record"
MARKS = "marks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One record's step within an operation."""

    seq: int
    aspect: str
    """`record` or `marks`."""

    collection: str
    record_id: str
    state_before: int
    state_after: int
    before: dict[str, Any] | None
    """The record, or its marks, before. None where there was nothing."""

    vectors: bytes


@dataclass(frozen=True, slots=True)
class Image:
    """A record, or its marks, as it was before a change."""

    before: str | None
    """JSON. None where there was nothing."""

    vectors: bytes
    """The record's vectors, one after another."""


class Recorder:
    """Writes one operation's changes into the history, inside the ledger's own transaction."""

    def __init__(self, connection: sqlite3.Connection, draft: OperationDraft, at: datetime) -> None:
        self._connection = connection
        self._draft = draft
        self._at = at
        self._tally = dict.fromkeys(COUNTS, 0)

    def add(
        self,
        count: str,
        aspect: str,
        collection: str,
        record_id: str,
        image: Image,
        *,
        is_new: bool = False,
        state_after: int | None = None,
    ) -> None:
        """Keep a before-image, and count it.

        Args:
            count: One of `COUNTS`.
            is_new: The record never existed, so no earlier state is looked up.
            state_after: The earlier state that an undo brings back; a new one where it is None.
        """
        if not any(self._tally.values()):
            self._create_operation()
        self._tally[count] += 1
        earlier = 0 if is_new else current_state(self._connection, collection, record_id, aspect)
        self._connection.execute(
            "INSERT INTO changes "
            "(operation, aspect, collection, record_id, state_before, state_after, before, vectors) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (self._draft.id, aspect, collection, record_id, earlier, state_after, image.before, image.vectors),
        )

    def close(self) -> None:
        """Add what was counted to the operation's totals."""
        totals = ", ".join(f"{count} = {count} + ?" for count in COUNTS)
        self._connection.execute(
            f"UPDATE operations SET {totals} WHERE id = ?", (*self._tally.values(), self._draft.id)
        )

    def _create_operation(self) -> None:
        """Create the operation with its first change, so that nothing done is no operation."""
        draft = self._draft
        self._connection.execute(
            "INSERT INTO operations (id, kind, actor, created_at, reason, undoes) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO NOTHING",
            (draft.id, draft.kind, draft.actor, self._at.isoformat(), draft.reason, draft.undoes),
        )


_LAST_CHANGE = "FROM changes WHERE collection = ? AND record_id = ? AND aspect = ? ORDER BY seq DESC LIMIT 1"


def current_state(connection: sqlite3.Connection, collection: str, record_id: str, aspect: str) -> int:
    """Return the name of the state that a record is in. 0 before its first change."""
    row = connection.execute(
        f"SELECT coalesce(state_after, seq) {_LAST_CHANGE}",
        (collection, record_id, aspect),
    ).fetchone()
    return int(row[0]) if row else 0


def marked_since(connection: sqlite3.Connection, change: Change) -> bool:
    """Return whether a record's marks are in another state than right after a change of it."""
    row = connection.execute(
        "SELECT coalesce(state_after, seq) FROM changes WHERE collection = ? AND record_id = ? AND aspect = ? "
        "AND seq < ? ORDER BY seq DESC LIMIT 1",
        (change.collection, change.record_id, MARKS, change.seq),
    ).fetchone()
    return current_state(connection, change.collection, change.record_id, MARKS) != (row[0] if row else 0)


def empty_images(connection: sqlite3.Connection, collection: str, record_id: str) -> None:
    """Take out of the history what it holds of a record and its marks. That they were changed stays."""
    connection.execute(
        "UPDATE changes SET before = ?, vectors = NULL WHERE collection = ? AND record_id = ? AND before IS NOT NULL",
        (GONE, collection, record_id),
    )


def replace_image(connection: sqlite3.Connection, seq: int, image: dict[str, Any], vectors: Vectors) -> None:
    """Put another image, with its vectors, in the place of the one that a change holds."""
    image["n_vectors"] = len(vectors)
    connection.execute(
        "UPDATE changes SET before = ?, vectors = ? WHERE seq = ?",
        (json.dumps(image, ensure_ascii=False), np.ascontiguousarray(vectors, "<f4").tobytes(), seq),
    )


def last_change(connection: sqlite3.Connection, change: Change) -> Operation:
    """Return the operation that touched a change's record last."""
    row = connection.execute(
        f"SELECT operation {_LAST_CHANGE}",
        (change.collection, change.record_id, change.aspect),
    ).fetchone()
    return read_operation(connection, row[0])


def read_operation(connection: sqlite3.Connection, operation_id: str) -> Operation:
    """Return one operation, by its id or by a beginning of it that no other shares.

    Raises:
        NotFound: No operation, or several, begin so.
    """
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM operations WHERE substr(id, 1, ?) = ? LIMIT 2", (len(operation_id), operation_id)
    ).fetchall()
    if len(rows) != 1 or not operation_id:
        raise NotFound(
            f"{'no' if not rows else 'more than one'} operation begins with {operation_id!r}; see: atlas history"
        )
    return _operation(rows[0])


def read_operations(connection: sqlite3.Connection, limit: int, offset: int) -> list[Operation]:
    """Return operations, newest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM operations ORDER BY seq DESC LIMIT ? OFFSET ?", (bounded(limit), bounded(offset))
    ).fetchall()
    return [_operation(row) for row in rows]


def read_collections(connection: sqlite3.Connection, operation_id: str) -> set[str]:
    """Return the collections whose records an operation touched."""
    operation = read_operation(connection, operation_id)
    rows = connection.execute("SELECT DISTINCT collection FROM changes WHERE operation = ?", (operation.id,))
    return {collection for (collection,) in rows}


def read_changes(connection: sqlite3.Connection, operation_id: str) -> Iterator[Change]:
    """Return an operation's changes, latest first, without those whose before-images were purged."""
    rows = connection.execute(
        "SELECT seq, aspect, collection, record_id, state_before, coalesce(state_after, seq), before, vectors "
        "FROM changes "
        "WHERE operation = ? AND before IS NOT ? ORDER BY seq DESC",
        (operation_id, GONE),
    )
    for seq, aspect, collection, record_id, state_before, state_after, before, vectors in rows.fetchall():
        yield Change(
            seq=seq,
            aspect=aspect,
            collection=collection,
            record_id=record_id,
            state_before=state_before,
            state_after=state_after,
            before=parsed(before) if before is not None else None,
            vectors=vectors or b"",
        )


_COLUMNS = f"id, kind, actor, created_at, reason, undoes, undone_by, {', '.join(COUNTS)}"


def read_moment(connection: sqlite3.Connection) -> Moment:
    """Return the present point in the history."""
    row = connection.execute(
        "SELECT (SELECT value FROM meta WHERE name = 'ledger_id'), (SELECT coalesce(max(seq), 0) FROM changes)"
    ).fetchone()
    return Moment(row[0], int(row[1]))


def _check_same_ledger(connection: sqlite3.Connection, moment: Moment) -> None:
    if read_moment(connection).ledger_id != moment.ledger_id:
        raise PlanOutdated(
            "the store was restored, embedded again or purged of a record since it was read; nothing was done. "
            "Read it and plan again"
        )


def check_unchanged(connection: sqlite3.Connection, collection: str, moment: Moment) -> None:
    """Raise `PlanOutdated` if what a collection held at a moment has changed since.

    New records do not count: they take nothing away from what a plan was made on.
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
    connection: sqlite3.Connection, collection: str, ids: Sequence[str], moment: Moment, *, with_marks: bool = False
) -> None:
    """Raise `PlanOutdated` if one of these records, or where that matters its marks, has changed since a moment."""
    _check_same_ledger(connection, moment)
    row = connection.execute(
        "SELECT record_id FROM changes WHERE collection = ? AND aspect IN (?, ?) AND seq > ? "
        "AND record_id IN (SELECT value FROM json_each(?)) LIMIT 1",
        (collection, RECORD, MARKS if with_marks else RECORD, moment.change, json.dumps(list(ids))),
    ).fetchone()
    if row:
        raise PlanOutdated(f"{row[0]!r} has changed since it was read; nothing was done. Read it and change it again")


def count_operations(connection: sqlite3.Connection) -> int:
    """Return how many operations the history holds."""
    return int(connection.execute("SELECT count(*) FROM operations").fetchone()[0])


def _operation(row: tuple[Any, ...]) -> Operation:
    operation_id, kind, actor, created_at, reason, undoes, undone_by, *counts = row
    return Operation(
        id=operation_id,
        kind=kind,
        actor=actor,
        created_at=instant(created_at),
        reason=reason,
        undoes=undoes,
        undone_by=undone_by,
        counts={name: count for name, count in zip(COUNTS, counts, strict=True) if count},
    )
