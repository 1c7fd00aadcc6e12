"""Stores as older versions of ATLAS wrote them."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from atlas.core.address import local_directory
from atlas.core.operations import Marks
from atlas.protocols.access import AUDIT
from atlas.storage.location import access
from atlas.storage.location.access import access_storage
from atlas.storage.marks.codec import encode_marks
from atlas.storage.marks.files import marks_file
from atlas.storage.postgres.schema import translate_schema
from atlas.storage.sqlite.mark_migration import FILE_TABLES
from tests.support.storage.engines import rows_of, run_in

SCHEMA_1 = Path(__file__).with_name("schema_1.sql")


def make_version_1(path: Path) -> None:
    """Write a closed store's ledger again as version 1 wrote it, with all that it holds."""
    write_old_files(path)
    ledger, newer = path / "atlas.sqlite", path / "newer.sqlite"
    for beside in path.glob("atlas.sqlite-*"):
        beside.unlink()
    ledger.rename(newer)
    with closing(sqlite3.connect(ledger)) as connection:
        connection.executescript(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;" + SCHEMA_1.read_text(encoding="utf-8")
        )
        connection.execute("ATTACH ? AS newer", (str(newer),))
        is_ours = (
            "type = 'table' AND name NOT LIKE 'records_fts%' AND name NOT LIKE 'sqlite_%' AND name <> 'pending_marks'"
        )
        for (table,) in connection.execute(f"SELECT name FROM main.sqlite_master WHERE {is_ours}").fetchall():
            connection.execute(f"DELETE FROM {table}")
            columns = ", ".join(name for _, name, *_ in connection.execute(f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO {table} SELECT {columns} FROM newer.{table}")
        connection.commit()
    newer.unlink()
    _relabel(path, 1)


def make_version_2(path: Path) -> None:
    """Write a closed store's ledger again as version 2 wrote it, with all that it holds."""
    make_version_3(path)
    with closing(sqlite3.connect(path / "atlas.sqlite")) as connection:
        connection.executescript(
            "DROP INDEX events_by_operation; ALTER TABLE events DROP COLUMN operation; "
            "ALTER TABLE events DROP COLUMN undone; PRAGMA user_version = 2;"
        )
    _relabel(path, 2)


def make_version_3(path: Path) -> None:
    """Write a closed store's ledger again as version 3 wrote it, which kept marks in their files alone."""
    make_version_4(path)
    with closing(sqlite3.connect(path / "atlas.sqlite")) as connection:
        connection.executescript(
            "DROP TABLE marks; DROP TABLE marks_files; DROP TABLE lost_marks; DROP TABLE pending_marks; "
            "CREATE TABLE pending_marks (collection TEXT NOT NULL, record_id TEXT NOT NULL, marks TEXT NOT NULL, "
            "PRIMARY KEY (collection, record_id)); PRAGMA user_version = 3;"
        )
    _relabel(path, 3)


def make_version_4(path: Path) -> None:
    """Write a closed store's ledger again as version 4 wrote it, which kept no token vectors."""
    make_version_5(path)
    with closing(sqlite3.connect(path / "atlas.sqlite")) as connection:
        connection.executescript("DROP TABLE token_vectors; PRAGMA user_version = 4;")
    _relabel(path, 4)


def make_version_5(path: Path) -> None:
    """Write a closed store's ledger again as version 5 wrote it, which read marks from their files again."""
    names = write_old_files(path)
    with closing(sqlite3.connect(path / "atlas.sqlite")) as connection:
        connection.executescript(f"{FILE_TABLES} PRAGMA user_version = 5;")
        connection.executemany("INSERT INTO marks_files VALUES (?, 'as it was left')", [(name,) for name in names])
        connection.commit()
    _relabel(path, 5)


def make_postgres_version_4(address: str) -> None:
    """Turn a closed store in PostgreSQL into one of version 4, which had tables for marks files without using them."""
    run_in(address, translate_schema(FILE_TABLES), "UPDATE meta SET value = '4' WHERE name = 'schema_version'")


def make_postgres_version_3(address: str) -> None:
    """Turn a closed store in PostgreSQL into one of version 3, whose keys and audit log were files of this machine."""
    make_postgres_version_4(address)
    directory = local_directory(address)
    for name, content in rows_of(address, "SELECT name, content FROM access_texts"):
        (directory / name).write_text(content, encoding="utf-8")
    lines = [f"{line}\n" for (line,) in rows_of(address, "SELECT line FROM audit_lines ORDER BY seq")]
    (directory / AUDIT).write_text("".join(lines), encoding="utf-8")
    run_in(
        address,
        "DROP TABLE access_texts, audit_lines",
        "UPDATE meta SET value = '3' WHERE name = 'schema_version'",
    )
    access_storage(directory).close()
    access._open_tables.cache_clear()  # as in a new process, which has not looked for these files yet


def write_old_files(path: Path) -> list[str]:
    """Write the marks files of a closed store as versions up to 5 wrote them. The collections that have one."""
    with closing(sqlite3.connect(path / "atlas.sqlite")) as connection:
        names = [name for (name,) in connection.execute("SELECT DISTINCT collection FROM records")]
        tables = {name: _marks_of(connection, name) for name in names}
    for name, marks in tables.items():
        (path / marks_file(name)).unlink(missing_ok=True)
        if marks:
            write_old_file(path / marks_file(name), marks)
    return [name for name in names if tables[name]]


def write_old_file(file: Path, marks: dict[str, Marks]) -> None:
    """Write a marks file as versions up to 5 wrote it, or as somebody changed it then."""
    encoded = {record_id: encode_marks(value) for record_id, value in marks.items()}
    file.write_text(json.dumps({"marks": encoded}, indent=1, sort_keys=True), encoding="utf-8")


def _marks_of(connection: sqlite3.Connection, collection: str) -> dict[str, Marks]:
    rows = "SELECT record_id, name, value FROM marks WHERE collection = ? ORDER BY record_id, name, position"
    marks: dict[str, dict[str, Any]] = {}
    for record_id, name, value in connection.execute(rows, (collection,)):
        own = marks.setdefault(record_id, {})
        own[name] = (*own.get(name, ()), value) if name == "tags" else value
    return {record_id: Marks(**own) for record_id, own in marks.items()}


def schema_version(ledger: Path) -> int:
    """The schema version that a ledger's file says."""
    with closing(sqlite3.connect(ledger)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _relabel(path: Path, version: int) -> None:
    label = path / "store.json"
    if label.exists():
        held = label.read_text(encoding="utf-8")
        label.write_text(re.sub(r'"schema_version": \d+', f'"schema_version": {version}', held), encoding="utf-8")
