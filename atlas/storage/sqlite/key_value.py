"""Small texts that a memory keeps beside the records of its collection: rows of the ledger's `meta` table.

So a backup holds them, and every process that has the store open sees them.
"""

from __future__ import annotations

from atlas.storage.sqlite.ledger import SqliteLedger

_SET = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


def read_kept(ledger: SqliteLedger, collection: str) -> dict[str, str]:
    """Each text of a collection by its name, in the order of names."""
    beginning = _beginning(collection)
    with ledger.database.read() as connection:
        rows = connection.execute(
            "SELECT name, value FROM meta WHERE substr(name, 1, ?) = ? ORDER BY name", (len(beginning), beginning)
        ).fetchall()
    return {name.removeprefix(beginning): str(value) for name, value in rows}


def keep(ledger: SqliteLedger, collection: str, name: str, text: str) -> None:
    """Keep a text from now on, in place of the one of the same name."""
    with ledger.database.write() as connection:
        connection.execute(_SET, (_beginning(collection) + name, text))


def _beginning(collection: str) -> str:
    return f"kept:{collection}:"
