"""The ledger's tables of marks: what each record is marked with now, a row a value, so that an index finds it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from atlas.core.codec import check_json
from atlas.core.errors import InvalidInput
from atlas.core.operations import NO_MARKS, Marks
from atlas.storage.marks.codec import decode_marks, encode_marks

TABLES = """
-- What people say of records. `position` orders the tags of a record.
CREATE TABLE marks (
    collection TEXT    NOT NULL,
    record_id  TEXT    NOT NULL,
    name       TEXT    NOT NULL,                 -- 'tags', 'note', 'pinned' or 'buried'
    position   INTEGER NOT NULL,
    value      NOT NULL,
    PRIMARY KEY (collection, record_id, name, position)
) WITHOUT ROWID;
CREATE INDEX marks_by_value ON marks (collection, name, value);

-- Records whose entry in their JSON file is not what the ledger says yet, each with the revision that changed it.
CREATE TABLE pending_marks (
    collection TEXT    NOT NULL,
    record_id  TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    PRIMARY KEY (collection, record_id)
) WITHOUT ROWID;

-- Each JSON file as it was when it and the ledger said the same last; another version of it was made by hand.
CREATE TABLE marks_files (
    collection TEXT PRIMARY KEY,
    version    TEXT NOT NULL
) WITHOUT ROWID;

-- Records whose last mark went with its file, before the ledger kept marks; they have the one before it.
CREATE TABLE lost_marks (
    collection TEXT NOT NULL,
    record_id  TEXT NOT NULL,
    PRIMARY KEY (collection, record_id)
) WITHOUT ROWID;
"""

_IS_MARK = "(name IN ('tags', 'note') AND typeof(value) = 'text') OR (name IN ('pinned', 'buried') AND value = 1)"


def read_marks(connection: sqlite3.Connection, collection: str, ids: Sequence[str] | None = None) -> dict[str, Marks]:
    """Return the marks of those of the records, or of a collection's, that have any."""
    among = "" if ids is None else "AND record_id IN (SELECT value FROM json_each(?))"
    rows = connection.execute(
        f"SELECT record_id, name, value FROM marks WHERE collection = ? {among} ORDER BY record_id, name, position",
        (collection,) if ids is None else (collection, json.dumps(list(ids))),
    )
    return {record_id: _marks(own) for record_id, own in groupby(rows.fetchall(), itemgetter(0))}


def read_column(connection: sqlite3.Connection, collection: str, name: str) -> dict[str, Any]:
    """Return one of the marks of every record of a collection that has it: a tuple of tags, a truth or a text."""
    rows = connection.execute(
        "SELECT record_id, value FROM marks WHERE collection = ? AND name = ? ORDER BY record_id, position",
        (collection, name),
    ).fetchall()
    if name == "tags":
        return {record_id: tuple(tag for _, tag in own) for record_id, own in groupby(rows, itemgetter(0))}
    return {record_id: value if name == "note" else bool(value) for record_id, value in rows}


def write_marks(connection: sqlite3.Connection, collection: str, marks: Mapping[str, Marks]) -> None:
    """Set records' marks in the table alone: `LedgerWriter.mark` also keeps what they were."""
    connection.executemany(
        "DELETE FROM marks WHERE collection = ? AND record_id = ?", [(collection, record_id) for record_id in marks]
    )
    connection.executemany(
        "INSERT INTO marks VALUES (?, ?, ?, ?, ?)",
        [(collection, record_id, *row) for record_id, own in marks.items() for row in _rows(own)],
    )


def await_files(connection: sqlite3.Connection, collection: str, ids: Iterable[str], revision: int) -> None:
    """Note that the file's entries of these records have to follow the ledger."""
    connection.executemany(
        "INSERT OR REPLACE INTO pending_marks VALUES (?, ?, ?)",
        [(collection, record_id, revision) for record_id in ids],
    )


def forget_lost(connection: sqlite3.Connection, collection: str, ids: Iterable[str]) -> None:
    """Take it that the marks of these records are as somebody wants them."""
    connection.executemany(
        "DELETE FROM lost_marks WHERE collection = ? AND record_id = ?", [(collection, record_id) for record_id in ids]
    )


def read_pending(connection: sqlite3.Connection, collection: str) -> dict[str, int]:
    """Return the records whose entry in the file has to follow, each with the revision of its change."""
    rows = connection.execute("SELECT record_id, revision FROM pending_marks WHERE collection = ?", (collection,))
    return dict(rows.fetchall())


def differing(connection: sqlite3.Connection, collection: str, held: Mapping[str, Marks]) -> list[str]:
    """Return the records of which a file and the ledger say different things, and whose entry is not pending."""
    known, pending = read_marks(connection, collection), read_pending(connection, collection)
    ids = sorted({*held, *known} - {*pending})
    return [record_id for record_id in ids if held.get(record_id, NO_MARKS) != known.get(record_id, NO_MARKS)]


def check_table(connection: sqlite3.Connection) -> None:
    """Raise `InvalidInput` unless the table of marks holds marks alone."""
    for record_id, value, is_mark in connection.execute(f"SELECT record_id, value, {_IS_MARK} FROM marks"):
        if not is_mark:
            raise InvalidInput(f"the marks of {record_id!r} should be tags, pinned, buried and note, but are not")
        check_json({record_id: value}, "marks")


def _rows(marks: Marks) -> Iterator[tuple[str, int, Any]]:
    for name, value in encode_marks(marks).items():
        for position, item in enumerate(value if isinstance(value, list) else [value]):
            yield name, position, item


def _marks(rows: Iterable[tuple[str, str, Any]]) -> Marks:
    encoded: dict[str, Any] = {}
    for _, name, value in rows:
        if name == "tags":
            encoded.setdefault(name, []).append(value)
        else:
            encoded[name] = value
    return decode_marks(encoded)
