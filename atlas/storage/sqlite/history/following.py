"""What a follower of a ledger asks before it goes on: how far the ledger is, and whether it is still the same.

A copy of the file that is put back has the id of the ledger that it was taken of, and may grow to any revision with
other records. So a follower remembers the newest change that it has seen, by the random id of the operation that made
it: a ledger that has that change has all that came before it, too.
"""

from __future__ import annotations

import sqlite3

from atlas.storage.records import NO_TIP, Position, Tip

_NAME = "operation || ' ' || record_id"
_TIP = f"(SELECT max(seq) FROM changes), (SELECT {_NAME} FROM changes ORDER BY seq DESC LIMIT 1)"
_POSITION = f"""
    SELECT
        (SELECT value FROM meta WHERE name = 'ledger_id'),
        (SELECT max(revision) FROM records WHERE collection = ?),
        (SELECT value FROM meta WHERE name = 'embedding_model'),
        (SELECT value FROM meta WHERE name = 'embedding_dimension'),
        {_TIP}
"""
"""One statement, as it is asked before every query."""


def read_position(connection: sqlite3.Connection, collection: str) -> Position:
    """Return where a collection is now."""
    ledger_id, revision, model, dimension, *tip = connection.execute(_POSITION, (collection,)).fetchone()
    return Position(ledger_id, revision or 0, (model, int(dimension)) if model else None, _tip(*tip))


def read_tip(connection: sqlite3.Connection) -> Tip:
    """Return the newest change of a ledger, of whatever collection."""
    return _tip(*connection.execute(f"SELECT {_TIP}").fetchone())


def _tip(number: int | None, name: str | None) -> Tip:
    return Tip(number, name) if number and name else NO_TIP


def has_change(connection: sqlite3.Connection, tip: Tip) -> bool:
    """Return whether a change is in a ledger's history, so that all that was seen before it is there as well."""
    row = connection.execute(f"SELECT {_NAME} FROM changes WHERE seq = ?", (tip.number,)).fetchone()
    return row is not None and row[0] == tip.name


def count_vectors(connection: sqlite3.Connection, collection: str) -> int:
    """Return how many vectors a collection has, as one who follows it from its start would be given them."""
    row = connection.execute(
        "SELECT count(*) FROM records r JOIN vectors v ON v.seq = r.seq WHERE r.collection = ?", (collection,)
    ).fetchone()
    return int(row[0])
