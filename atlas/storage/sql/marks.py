"""The marks of a ledger, one indexed row per value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from atlas.core.errors import InvalidInput, NotAllowed
from atlas.core.json_values import check_json, dump
from atlas.core.operations import NO_MARKS, Marks
from atlas.protocols.infra import Clock
from atlas.storage.marks.codec import MARK_NAMES, check_marks, decode_marks, encode_marks
from atlas.storage.records import OperationDraft, Seqs
from atlas.storage.sql.connection import Connection, Database, TextArray
from atlas.storage.sql.records import MARKS, BeforeImage, LedgerWriter, open_writer, read_authors

TABLES = """
-- Marks of people on records. `position` orders the tags of a record.
CREATE TABLE marks (
    collection TEXT    NOT NULL,
    record_id  TEXT    NOT NULL,
    name       TEXT    NOT NULL,                 -- a field of `Marks`
    position   INTEGER NOT NULL,
    value      NOT NULL,
    PRIMARY KEY (collection, record_id, name, position)
) WITHOUT ROWID;
CREATE INDEX marks_by_value ON marks (collection, name, value);

-- Records whose last mark was lost with its file, before the ledger had marks; they have the mark before it.
CREATE TABLE lost_marks (
    collection TEXT NOT NULL,
    record_id  TEXT NOT NULL,
    PRIMARY KEY (collection, record_id)
) WITHOUT ROWID;
"""

STRING_MARKS = ("tags", "note", "held_for", "quarantine")
_IS_MARK_SQL = f"(name IN {STRING_MARKS} AND typeof(value) = 'text') OR (name IN ('pinned', 'buried') AND value = 1)"
_HIDDEN_SQL = (
    "SELECT group_concat(seq) FROM (SELECT DISTINCT r.seq FROM marks m "
    "CROSS JOIN records r ON r.collection = m.collection AND r.id = m.record_id WHERE m.collection = ? "
    "AND m.name IN (SELECT value FROM json_each(?)) AND NOT (m.name = 'held_for' AND m.value = ?) "
    "AND r.deleted = 0) hidden"
)
_ORPHANED_SQL = (
    "SELECT DISTINCT collection, record_id FROM marks m WHERE NOT EXISTS "
    "(SELECT 1 FROM records r WHERE r.collection = m.collection AND r.id = m.record_id)"
)
_LOST_SQL = (
    "SELECT record_id FROM lost_marks l WHERE EXISTS "
    "(SELECT 1 FROM records r WHERE r.collection = l.collection AND r.id = l.record_id AND r.deleted = 0)"
)


class SqlMarks:
    """The marks of the records of every collection."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def read(self, collection: str, ids: Sequence[str] | None = None) -> dict[str, Marks]:
        """Return the marks of records, keyed by record id. Unmarked records are absent.

        Args:
            ids: Ids of the records, or None for all records of the collection.
        """
        with self._database.read() as connection:
            return read_marks(connection, collection, ids)

    def column(self, collection: str, name: str) -> dict[str, Any]:
        """Return one mark of every record that has it, keyed by id: a tuple of tags, a boolean or a string.

        Raises:
            InvalidInput: There is no mark of this name.
        """
        if name not in MARK_NAMES:
            names = ", ".join(f"marks.{name}" for name in MARK_NAMES)
            raise InvalidInput(f"expected one of {names} for a column, got 'marks.{name}'")
        with self._database.read() as connection:
            rows = sorted(  # SQLite would order them by reading all marks of the collection
                connection.execute(
                    "SELECT record_id, position, value FROM marks WHERE collection = ? AND name = ?", (collection, name)
                ).fetchall()
            )
        if name == "tags":
            return {record_id: tuple(tag for *_, tag in tags) for record_id, tags in groupby(rows, itemgetter(0))}
        return {record_id: value if name in STRING_MARKS else bool(value) for record_id, _, value in rows}

    def hidden_seqs(self, collection: str, reader: str, *, only_quarantined: bool) -> Seqs:
        """Return the sorted numbers of the live records that a search leaves out.

        Args:
            reader: Name of the actor whose own pending records are searched, or empty.
            only_quarantined: Whether only records in quarantine are left out, and not buried or pending ones.
        """
        names = TextArray(["quarantine"] if only_quarantined else ["quarantine", "buried", "held_for"])
        with self._database.read() as connection:
            row = connection.execute(_HIDDEN_SQL, (collection, names, reader)).fetchone()
        return np.sort(np.fromstring(row[0] or "", np.int64, sep=","))

    def write(self, collection: str, marks: Mapping[str, Marks], operation: OperationDraft) -> None:
        """Set the marks of records, even to equal ones, or raise `NotFound` if a record does not exist."""
        self._apply_change(
            collection,
            marks,
            lambda record_id, current: _keep_review_marks(marks[record_id], current),
            operation,
            counts_equal=True,
        )

    def change(
        self, collection: str, ids: Sequence[str], change: Callable[[Marks], Marks], operation: OperationDraft
    ) -> int:
        """Apply a function to the marks of records, and return the number of changed records."""
        return self._apply_change(
            collection, ids, lambda _, current: _keep_review_marks(change(current), current), operation
        )

    def quarantine(self, collection: str, reasons: Mapping[str, str], operation: OperationDraft) -> int:
        """Set each record's quarantine reason ('' ends the quarantine), and return the number of changed records."""
        return self._apply_change(
            collection, reasons, lambda record_id, current: replace(current, quarantine=reasons[record_id]), operation
        )

    def _apply_change(
        self,
        collection: str,
        ids: Iterable[str],
        change: Callable[[str, Marks], Marks],
        operation: OperationDraft,
        *,
        counts_equal: bool = False,
    ) -> int:
        """Replace the marks of records by the results of a function, and return the number of changed records.

        Args:
            counts_equal: Whether a record counts as changed if its new marks equal its old ones.
        """
        with open_writer(self._database, self._clock, operation) as writer:
            marks = read_marks(writer.connection, collection, list(ids))
            before = {record_id: marks.get(record_id, NO_MARKS) for record_id in ids}
            after = {record_id: change(record_id, current) for record_id, current in before.items()}
            check_marks(after)
            writer.check_exists(collection, after)
            check_may_change(writer.connection, operation, collection, after)
            writer.check_not_changed(collection, after)
            changed_ids = [record_id for record_id in after if counts_equal or after[record_id] != before[record_id]]
            for record_id in changed_ids:
                change_marks(writer, collection, record_id, before[record_id], after[record_id])
            clear_lost_marks(writer.connection, collection, after)
        return len(changed_ids)

    def orphaned_marks(self) -> list[tuple[str, str]]:
        """Return the collection and id of each record that has marks, but was never in the ledger."""
        with self._database.read() as connection:
            return connection.execute(_ORPHANED_SQL).fetchall()

    def drop_orphaned_marks(self, operation: OperationDraft) -> None:
        """Remove the marks that `orphaned_marks` lists, as part of an operation."""
        with open_writer(self._database, self._clock, operation) as writer:
            for collection, record_id in writer.connection.execute(_ORPHANED_SQL).fetchall():
                marks = read_marks(writer.connection, collection, [record_id])
                change_marks(writer, collection, record_id, marks.get(record_id, NO_MARKS), NO_MARKS)

    def ids_with_lost_marks(self) -> list[str]:
        """Return the ids of live records whose marks were lost with a file, and have not been set since."""
        with self._database.read() as connection:
            return [record_id for (record_id,) in connection.execute(_LOST_SQL)]

    def change_token(self) -> str:
        """Return a string that changes with every change of records, marks or uses.

        Takes constant time. Operations count too, because an undo may only change uses.
        """
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT (SELECT value FROM meta WHERE name = 'ledger_id'), (SELECT max(seq) FROM operations), "
                "(SELECT max(seq) FROM changes), (SELECT max(seq) FROM events)"
            ).fetchone()
        return " ".join(str(part or 0) for part in row)


def read_marks(connection: Connection, collection: str, ids: Sequence[str] | None = None) -> dict[str, Marks]:
    """Return the marks of these records, or of all records, keyed by id. Unmarked records are absent."""
    condition = "" if ids is None else "AND record_id IN (SELECT value FROM json_each(?))"
    rows = connection.execute(
        f"SELECT record_id, name, value FROM marks WHERE collection = ? {condition} ORDER BY record_id, name, position",
        (collection,) if ids is None else (collection, TextArray(ids)),
    )
    return {
        record_id: _from_rows(rows_of_record) for record_id, rows_of_record in groupby(rows.fetchall(), itemgetter(0))
    }


def write_marks_without_history(connection: Connection, collection: str, marks: Mapping[str, Marks]) -> None:
    """Set the marks of records without adding a change to the history."""
    connection.executemany(
        "DELETE FROM marks WHERE collection = ? AND record_id = ?", [(collection, record_id) for record_id in marks]
    )
    connection.executemany(
        "INSERT INTO marks VALUES (?, ?, ?, ?, ?)",
        [(collection, record_id, *row) for record_id, values in marks.items() for row in _to_rows(values)],
    )


def clear_lost_marks(connection: Connection, collection: str, ids: Iterable[str]) -> None:
    """Remove records from the list of lost marks, because their marks were just set."""
    connection.executemany(
        "DELETE FROM lost_marks WHERE collection = ? AND record_id = ?", [(collection, record_id) for record_id in ids]
    )


def change_marks(
    writer: LedgerWriter, collection: str, record_id: str, before: Marks, after: Marks, *, state: int | None = None
) -> None:
    """Set a record's marks, and keep the earlier ones in the history.

    Args:
        before: The current marks.
        after: The new marks.
        state: Number of the earlier state that an undo restores, or None for a new state.
    """
    image = BeforeImage(dump(encode_marks(before)))
    writer.add_change("marked", MARKS, collection, record_id, image, state_after=state)
    write_marks_without_history(writer.connection, collection, {record_id: after})
    revision = writer.next_revision()
    if before.quarantine != after.quarantine:  # followers of the records, such as the map, leave it out or take it in
        writer.connection.execute(
            "UPDATE records SET revision = ? WHERE collection = ? AND id = ?", (revision, collection, record_id)
        )
    clear_lost_marks(writer.connection, collection, [record_id])


def replace_marks(writer: LedgerWriter, collection: str, marks: Mapping[str, Marks]) -> None:
    """Set the marks of records, or raise `NotFound` if a record does not exist."""
    writer.check_exists(collection, marks)
    before = read_marks(writer.connection, collection, list(marks))
    for record_id, value in marks.items():
        change_marks(writer, collection, record_id, before.get(record_id, NO_MARKS), value)


def check_may_change(connection: Connection, operation: OperationDraft, collection: str, ids: Iterable[str]) -> None:
    """Raise `NotAllowed` for records of other actors if the operation may change only its actor's own records.

    A writer under review may change only own records that are still pending.
    """
    ids_to_check = list(ids)
    if operation.is_reviewed:
        _check_own_pending(connection, operation, collection, ids_to_check)
    elif operation.changes_own_only:
        check_authors(connection, operation.actor, collection, ids_to_check)


def check_authors(connection: Connection, actor: str, collection: str, ids: Sequence[str]) -> None:
    """Raise `NotAllowed` unless an actor stored all of these records."""
    authors = read_authors(connection, collection, ids)
    for record_id in ids:
        if authors.get(record_id) != actor:
            raise NotAllowed(
                f"the record {record_id!r} in {collection!r} was stored by another actor, so {actor} may not change "
                "it; add a record instead, or ask a curator"
            )


def _check_own_pending(
    connection: Connection, operation: OperationDraft, collection: str, ids_to_check: Sequence[str]
) -> None:
    """Raise `NotAllowed` unless all of these records are pending, and were written by the operation's actor."""
    marks = read_marks(connection, collection, ids_to_check)
    for record_id in ids_to_check:
        if marks.get(record_id, NO_MARKS).held_for != operation.actor:
            raise NotAllowed(
                f"{operation.actor} writes under review and may only change its own pending records, and "
                f"{record_id!r} is not one; ask a curator, or add a record instead"
            )


def _keep_review_marks(marks: Marks, current: Marks) -> Marks:
    """Return marks with the current `held_for` and `quarantine`, which only curators change."""
    return replace(marks, held_for=current.held_for, quarantine=current.quarantine)


def check_marks_table(connection: Connection) -> None:
    """Raise `InvalidInput` unless the table of marks contains only valid marks."""
    rows = connection.execute(f"SELECT record_id, name, value, {_IS_MARK_SQL} FROM marks")
    for record_id, name, value, is_mark in rows:
        if not is_mark:
            raise InvalidInput(
                f"expected one of {', '.join(MARK_NAMES)} as a mark of {record_id!r}, got {name!r} with the value "
                f"{value!r:.100}; correct the file"
            )
        check_json({record_id: value}, "marks")


def _to_rows(marks: Marks) -> Iterator[tuple[str, int, Any]]:
    """Yield the name, position and value of each row of the table for a record's marks."""
    for name, value in encode_marks(marks).items():
        for position, item in enumerate(value if isinstance(value, list) else [value]):
            yield name, position, item


def _from_rows(rows: Iterable[tuple[str, str, Any]]) -> Marks:
    """Return the marks of a record from its rows: id, name and value, in the order of positions."""
    encoded: dict[str, Any] = {}
    for _, name, value in rows:
        if name == "tags":
            encoded.setdefault(name, []).append(value)
        else:
            encoded[name] = value
    return decode_marks(encoded)
