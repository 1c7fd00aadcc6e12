"""Ids of purged records: rows of the ledger's `meta` table, so that nothing brings such a record back.

No hash of what a record said is kept: one of a short secret could be guessed. So the same text under another id is
another record.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from atlas.core.errors import InvalidInput
from atlas.storage.sqlite.database import Database

GONE = "null"
"""The before-image of a change of a purged record: JSON for nothing, where NULL says that there was no record."""

_NAME = "purged:"

IS_PURGED = f"EXISTS (SELECT 1 FROM meta WHERE name = '{_NAME}' || r.collection || ':' || r.id)"
"""A condition on `records AS r`."""


def note_purged(connection: sqlite3.Connection, collection: str, record_id: str, operation_id: str) -> None:
    """Keep from now on that an operation purged a record."""
    connection.execute("INSERT INTO meta VALUES (?, ?)", (f"{_NAME}{collection}:{record_id}", operation_id))


def purged_by(connection: sqlite3.Connection, collection: str, record_id: str) -> str | None:
    """Return the id of the operation that purged a record. None where none did."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (f"{_NAME}{collection}:{record_id}",)).fetchone()
    return row[0] if row else None


def read_purged(database: Database, collection: str, ids: Sequence[str]) -> set[str]:
    """Return those of the ids whose records were purged."""
    with database.read() as connection:
        return {record_id for record_id in ids if purged_by(connection, collection, record_id)}


def has_pending_marks(connection: sqlite3.Connection, operation_ids: Iterable[str]) -> bool:
    """Return whether a marks file may still hold marks of what one of these operations purged."""
    row = connection.execute(
        f"SELECT 1 FROM pending_marks p JOIN meta m ON m.name = '{_NAME}' || p.collection || ':' || p.record_id "
        "WHERE m.value IN (SELECT value FROM json_each(?)) LIMIT 1",
        (json.dumps(list(operation_ids)),),
    ).fetchone()
    return row is not None


def count_purged(connection: sqlite3.Connection, collection: str) -> int:
    """Return how many records of a collection were purged."""
    beginning = f"{_NAME}{collection}"
    row = connection.execute(
        "SELECT count(*) FROM meta WHERE name > ? AND name < ?", (f"{beginning}:", f"{beginning};")
    )
    return int(row.fetchone()[0])


def every_purged(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the collection and id of every record that was purged."""
    rows = connection.execute("SELECT substr(name, ?) FROM meta WHERE substr(name, 1, ?) = ?", (
        len(_NAME) + 1, len(_NAME), _NAME)).fetchall()  # fmt: skip
    parts = (name.partition(":") for (name,) in rows)
    return [(collection, record_id) for collection, _, record_id in parts]


def purged_in(connection: sqlite3.Connection, operation_id: str) -> dict[tuple[str, str], str]:
    """Return the records that an operation touched and that were purged, with what purged each."""
    rows = connection.execute(
        f"SELECT c.collection, c.record_id, m.value FROM changes c JOIN meta m ON m.name = '{_NAME}' || c.collection "
        "|| ':' || c.record_id WHERE c.operation = ?",
        (operation_id,),
    ).fetchall()
    return {(collection, record_id): purge for collection, record_id, purge in rows}


def refuse_purged(connection: sqlite3.Connection, collection: str, record_id: str) -> None:
    """Raise `InvalidInput` if a record of this id was purged."""
    if purged_by(connection, collection, record_id):
        raise InvalidInput(
            f"the record {record_id!r} of {collection!r} was purged, and its id is not used again; give another id"
        )
