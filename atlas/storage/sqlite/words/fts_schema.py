"""The tables of keyword search: an FTS5 table for each collection, so that a word is as rare as it is among its like.

They keep no text of their own. A view is their content, so that each can be checked against the records, and built
from them again; triggers keep them in step. All of it calls `searchable`, which every connection of `Database` knows.
"""

from __future__ import annotations

import sqlite3

MOST_PARTS = 4
"""Of a table's index, before they are merged: a lookup asks each of them, and most of what it takes is that."""

PAGES_MERGED = 1_000
"""Of some 4 kB, that are written at a time at most. A bulk that leaves more is merged in several turns."""

REGISTRY = """
CREATE TABLE word_tables (
    key        INTEGER PRIMARY KEY,
    collection TEXT NOT NULL UNIQUE
);
"""

_TABLE = (
    """
    CREATE VIEW searchable_{key} AS
        SELECT seq, searchable(document) AS document, searchable(search_text) AS search_text
        FROM records WHERE collection = {collection} AND deleted = 0
    """,
    """
    CREATE VIRTUAL TABLE words_{key} USING fts5(
        document, search_text, content = 'searchable_{key}', content_rowid = 'seq',
        tokenize = "unicode61 remove_diacritics 2"
    )
    """,
    """
    CREATE TRIGGER words_{key}_insert AFTER INSERT ON records
    WHEN new.collection = {collection} AND new.deleted = 0 BEGIN
        INSERT INTO words_{key} (rowid, document, search_text)
            VALUES (new.seq, searchable(new.document), searchable(new.search_text));
    END
    """,
    """
    CREATE TRIGGER words_{key}_update AFTER UPDATE OF deleted, document, search_text ON records
    WHEN new.collection = {collection}
        AND (old.deleted, old.document, old.search_text) IS NOT (new.deleted, new.document, new.search_text) BEGIN
        INSERT INTO words_{key} (words_{key}, rowid, document, search_text)
            SELECT 'delete', old.seq, searchable(old.document), searchable(old.search_text) WHERE old.deleted = 0;
        INSERT INTO words_{key} (rowid, document, search_text)
            SELECT new.seq, searchable(new.document), searchable(new.search_text) WHERE new.deleted = 0;
    END
    """,
)


def word_table(connection: sqlite3.Connection, collection: str) -> str | None:
    """Return the name of a collection's table. None before anything was written into the collection."""
    row = connection.execute("SELECT key FROM word_tables WHERE collection = ?", (collection,)).fetchone()
    return f"words_{row[0]}" if row else None


def make_word_table(connection: sqlite3.Connection, collection: str) -> None:
    """Give a collection its table, with the words of the records that it has, unless it has one."""
    if word_table(connection, collection):
        return
    cursor = connection.execute("INSERT INTO word_tables (collection) VALUES (?)", (collection,))
    table, quoted = f"words_{cursor.lastrowid}", "'" + collection.replace("'", "''") + "'"
    _drop(connection, table)
    for statement in _TABLE:
        connection.execute(statement.format(key=cursor.lastrowid, collection=quoted))
    connection.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def make_word_table_anew(connection: sqlite3.Connection, collection: str) -> None:
    """Build a collection's table from its records, whatever is left of the one that it has."""
    if table := word_table(connection, collection):
        _drop(connection, table)
    connection.execute("DELETE FROM word_tables WHERE collection = ?", (collection,))
    make_word_table(connection, collection)


def is_scattered(connection: sqlite3.Connection, collection: str) -> bool:
    """Return whether a collection's table is in so many parts that looking words up takes far too long."""
    table = word_table(connection, collection)
    if table is None:
        return False
    return bool(connection.execute(f"SELECT count(DISTINCT segid) > ? FROM {table}_idx", (MOST_PARTS,)).fetchone()[0])


def merge_parts(connection: sqlite3.Connection, collection: str) -> None:
    """Make one of the parts that writes have left, which changes nothing but how soon words are found."""
    table = word_table(connection, collection)
    connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (-PAGES_MERGED,))


def check_word_table(connection: sqlite3.Connection, collection: str) -> str:
    """Return how a collection's table differs from its records.

    Empty where it does not. The check is written like a write.
    """
    table = word_table(connection, collection)
    if table is None:
        return "it has no table of words"
    held = {f"{kind.upper()} {name}" for kind, name in connection.execute("SELECT type, name FROM sqlite_master")}
    if missing := set(_parts(table)) - held:
        return f"there is no {min(missing)}"
    try:
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return str(error)
    return ""


def _drop(connection: sqlite3.Connection, table: str) -> None:
    for part in _parts(table):
        connection.execute(f"DROP {' IF EXISTS '.join(part.split())}")


def _parts(table: str) -> tuple[str, ...]:
    view = table.replace("words", "searchable")
    return f"TABLE {table}", f"VIEW {view}", f"TRIGGER {table}_insert", f"TRIGGER {table}_update"
