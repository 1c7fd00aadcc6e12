"""Copying of a whole ledger between databases of any engine. Keyword tables are rebuilt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.storage.engine import DOMAIN_NAMES, DOMAIN_NAMES_STATE, Progress
from atlas.storage.records import COPY_NOTE
from atlas.storage.sql.connection import Connection
from atlas.storage.sql.marks import STRING_MARKS
from atlas.storage.sql.meta import (
    read_ledger_id,
    read_newest_change,
    read_notes,
    read_revision,
    renew_ledger_id,
    write_notes,
)
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
"""Columns of each copied table, referenced tables first. `meta` and attributes are copied separately."""

ENGINE_NOTES = ("schema_version", DOMAIN_NAMES, DOMAIN_NAMES_STATE)
"""Names in `meta` that are not copied, because they belong to the engine."""

BATCH = 2_000

OpenTransaction = Callable[[], AbstractContextManager[Connection]]
"""Function that returns a context manager, which yields a connection in a transaction."""


def copy_ledger(source: Connection, open_transaction: OpenTransaction, on_progress: Progress | None = None) -> int:
    """Copy a ledger into an empty ledger, or resume an earlier copy. Return the number of rows.

    Args:
        source: A connection in a snapshot of its ledger.
        open_transaction: Begins a transaction on the target. Resuming does not repeat committed transactions.
    """
    n_total = sum(_count_rows(source, table) for table in (*TABLES, "attributes"))
    n_done = 0
    for table, columns in TABLES.items():
        with open_transaction() as target:
            n_present = _count_rows(target, table)
        n_done += n_present
        with closing(_read_batches(source, table, columns, n_present)) as batches:
            for rows in batches:
                with open_transaction() as target:
                    _insert_rows(target, table, columns, rows)
                n_done += len(rows)
                _report_progress(on_progress, n_done, n_total)
    n_attributes = _copy_attributes(
        source, open_transaction, lambda n_copied: _report_progress(on_progress, n_done + n_copied, n_total)
    )
    with open_transaction() as target:
        target.dialect.advance_sequences(target)
        for collection in read_collections(target):
            target.dialect.words.rebuild_word_table(target, collection)
        _copy_meta(source, target)
    return n_done + n_attributes


def begin_copy(source: Connection, target: Connection) -> None:
    """Mark an empty ledger as a copy in progress, or resume a copy of the same state.

    A partial copy of another state is removed.

    Raises:
        InvalidInput: The target contains data that is not from a copy.
    """
    source_state, copied_state = _describe_state(source), read_notes(target, COPY_NOTE).get("")
    if (
        copied_state is None
        and target.execute("SELECT 1 FROM operations UNION ALL SELECT 1 FROM records LIMIT 1").fetchone()
    ):
        raise InvalidInput("the target store is not empty; give the address of a new one")
    if copied_state not in (None, source_state):
        clear_ledger(target)
    write_notes(target, COPY_NOTE, {"": source_state})


def _describe_state(source: Connection) -> str:
    """Return a string that identifies a ledger, its newest change and its usage counts."""
    uses = source.execute("SELECT count(*), coalesce(sum(n_uses + n_retrieved), 0) FROM usage").fetchone()
    return json.dumps([read_ledger_id(source), read_revision(source), read_newest_change(source).name, *map(int, uses)])


def _report_progress(on_progress: Progress | None, n_done: int, n_total: int) -> None:
    if on_progress is not None:
        on_progress(n_done, n_total)


def finish_or_clear_copy(source: Connection, target: Connection) -> str:
    """Finish a copy if its rows equal those of the source. Otherwise clear the copy.

    Returns:
        The name of a table that differs, or an empty string if the copy was finished.
    """
    for table, columns in TABLES.items():
        if _digest(source, table, columns) != _digest(target, table, columns):
            clear_ledger(target)
            return table
    target.execute("DELETE FROM meta WHERE name = ?", (COPY_NOTE,))
    renew_ledger_id(target)
    return ""


def _digest(connection: Connection, table: str, columns: str) -> bytes:
    """Return a hash of all rows of a table."""
    digest = hashlib.blake2b()
    for rows in _read_batches(connection, table, columns):
        digest.update(repr(rows).encode("utf-8", "surrogatepass"))
    return digest.digest()


def clear_ledger(connection: Connection) -> None:
    """Delete the content of a ledger, in the caller's transaction."""
    for table in ("attributes", *reversed(TABLES)):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("DELETE FROM meta WHERE name NOT IN ('revision', 'ledger_id', 'schema_version')")


def _count_rows(connection: Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _read_batches(source: Connection, table: str, columns: str, n_skipped: int = 0) -> Generator[list[tuple[Any, ...]]]:
    """Yield the rows of a table in batches, ordered by the first columns."""
    order = "1, 2, 3, 4" if table == "marks" else "1, 2"
    query = f"SELECT {columns} FROM {table} ORDER BY {order} LIMIT {2**62} OFFSET {n_skipped}"
    with closing(source.stream(query)) as rows:
        while batch := rows.fetchmany(BATCH):
            yield [_portable_mark(row) for row in batch] if table == "marks" else batch


def _portable_mark(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row of marks with 1 for true, which SQLite stores as a number, and PostgreSQL as a string."""
    collection, record_id, name, position, value = row
    return collection, record_id, name, position, value if name in STRING_MARKS else 1


def _insert_rows(target: Connection, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
    placeholders = ", ".join("?" for _ in columns.split(","))
    target.executemany(f"INSERT INTO {table} ({columns}) VALUES ({placeholders})", rows)


def _copy_attributes(source: Connection, open_transaction: OpenTransaction, on_copied: Callable[[int], None]) -> int:
    """Copy the attributes for filters, and return their number.

    An interrupted copy is resumed with the last copied record, whose attributes may be incomplete.
    """
    with open_transaction() as target:
        last_seq = int(target.execute("SELECT coalesce(max(seq), 0) FROM attributes").fetchone()[0])
    n_copied = int(source.execute("SELECT count(*) FROM attributes WHERE seq < ?", (last_seq,)).fetchone()[0])
    value = source.dialect.value_sql("a")
    query = f"SELECT a.key, {value}, a.seq FROM attributes a WHERE a.seq >= {last_seq} ORDER BY a.seq"
    with closing(source.stream(query)) as rows:
        while batch := rows.fetchmany(BATCH):
            with open_transaction() as target:
                target.dialect.put_attributes(target, batch)
            n_copied += len(batch)
            on_copied(n_copied)
    return n_copied


def _copy_meta(source: Connection, target: Connection) -> None:
    """Copy the ledger's `meta` table, except for what belongs to the engine."""
    rows = source.execute("SELECT name, value FROM meta ORDER BY name").fetchall()
    target.executemany(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [row for row in rows if row[0] not in ENGINE_NOTES],
    )
