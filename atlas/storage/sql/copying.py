"""A whole ledger from one database into another, of whatever engine: rows as they are, and words indexed again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from atlas.core.errors import InvalidInput, StoreError
from atlas.storage.engine import DOMAIN_NAMES, DOMAINS_NAMED, Progress
from atlas.storage.sql.connection import Connection
from atlas.storage.sql.marks import TEXTS
from atlas.storage.sql.records import read_collections

TABLES: dict[str, str] = {
    "records": "seq, collection, id, revision, deleted, n_windows, content_hash, text_hash, stored_at, metadata, "
    "document, search_text, content",
    "vectors": "seq, window, vector",
    "token_vectors": "text_hash, packed",
    "attribute_keys": "key, collection, name",
    "operations": "seq, id, kind, actor, created_at, reason, undoes, undone_by, added, changed, removed, marked",
    "changes": "seq, operation, aspect, collection, record_id, state_before, state_after, before, vectors",
    "events": "seq, collection, record_id, kind, success, task_id, created_at, actor, operation, undone",
    "usage": "collection, record_id, n_uses, n_successes, last_used_at, n_retrieved, last_retrieved_at",
    "marks": "collection, record_id, name, position, value",
    "lost_marks": "collection, record_id",
}
"""The columns of each table that is copied, those that others refer to first. `meta` and attributes are beside."""

ENGINES_OWN = ("schema_version", DOMAIN_NAMES, DOMAINS_NAMED)
"""Names of `meta` that say something of the engine."""

BATCH = 2_000


def copy_ledger(source: Connection, target: Connection, on_progress: Progress | None = None) -> int:
    """Copy all that a ledger holds into one that holds nothing, as part of a transaction. Return how many rows.

    Raises:
        InvalidInput: The target holds something.
    """
    if target.execute("SELECT 1 FROM operations UNION ALL SELECT 1 FROM records LIMIT 1").fetchone():
        raise InvalidInput("the store that is copied to holds something already; give one that is not there yet")
    total = sum(_count(source, table) for table in (*TABLES, "attributes"))
    n_done = 0
    for table, columns in TABLES.items():
        for rows in _batches(source, table, columns):
            _insert(target, table, columns, rows)
            n_done += len(rows)
            if on_progress is not None:
                on_progress(n_done, total)
    n_done += _copy_attributes(source, target)
    _copy_meta(source, target)
    target.dialect.renumber(target)
    for collection in read_collections(target):
        target.dialect.words.make_word_table_anew(target, collection)
    if on_progress is not None:
        on_progress(n_done, total)
    return n_done


def check_copy(source: Connection, target: Connection) -> None:
    """Raise `StoreError` unless two ledgers hold the same rows, byte for byte."""
    for table, columns in TABLES.items():
        if _digest(source, table, columns) != _digest(target, table, columns):
            raise StoreError(
                f"the table {table} of the copy differs from what was copied; nothing was kept. Try again. If it "
                "differs again, run: atlas doctor"
            )


def _digest(connection: Connection, table: str, columns: str) -> bytes:
    digest = hashlib.blake2b()
    for rows in _batches(connection, table, columns):
        digest.update(repr(rows).encode("utf-8", "surrogatepass"))
    return digest.digest()


def empty(connection: Connection) -> None:
    """Take everything out of a ledger, as part of a transaction."""
    for table in ("attributes", "pending_marks", "marks_files", *reversed(TABLES)):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("DELETE FROM meta WHERE name NOT IN ('revision', 'ledger_id', 'schema_version')")


def _count(connection: Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _batches(source: Connection, table: str, columns: str) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a table in the order of its first columns."""
    order = "1, 2, 3, 4" if table == "marks" else "1, 2"
    rows = source.stream(f"SELECT {columns} FROM {table} ORDER BY {order}")
    while batch := rows.fetchmany(BATCH):
        # A truth is a number in SQLite, and a text in PostgreSQL.
        yield [(*row[:4], row[4] if row[2] in TEXTS else 1) for row in batch] if table == "marks" else batch


def _insert(target: Connection, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
    places = ", ".join("?" for _ in columns.split(","))
    target.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", rows)


def _copy_attributes(source: Connection, target: Connection) -> int:
    rows = source.stream(f"SELECT a.key, {source.dialect.value('a')}, a.seq FROM attributes a")
    n_copied = 0
    while batch := rows.fetchmany(BATCH):
        target.dialect.put_attributes(target, batch)
        n_copied += len(batch)
    return n_copied


def _copy_meta(source: Connection, target: Connection) -> None:
    rows = source.execute("SELECT name, value FROM meta ORDER BY name").fetchall()
    target.executemany(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [row for row in rows if row[0] not in ENGINES_OWN],
    )
