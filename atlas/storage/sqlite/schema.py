"""The ledger's tables, and migrations from older schemas."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import uuid4

from atlas.core.errors import ReadOnlyStore, SchemaTooNew
from atlas.storage.damage import damage_error
from atlas.storage.sql.connection import Connection
from atlas.storage.sql.marks import TABLES as MARK_TABLES
from atlas.storage.sql.meta import initialize
from atlas.storage.sql.tables import SCHEMA
from atlas.storage.sql.token_vectors import TABLE as TOKEN_TABLE
from atlas.storage.sqlite.database import SqliteDatabase
from atlas.storage.sqlite.mark_migration import FILE_TABLES, OldFiles, fill_tables, import_files, marks_file_reader
from atlas.storage.sqlite.words.fts_tables import REGISTRY, make_word_table

APPLICATION_ID = 0x41544C53  # "ATLS", which distinguishes a ledger from other SQLite files
SCHEMA_VERSION = 6

ATTRIBUTES = """
CREATE TABLE attributes (
    key   INTEGER NOT NULL,
    value NOT NULL,
    seq   INTEGER NOT NULL,
    PRIMARY KEY (key, value, seq)
) WITHOUT ROWID;
CREATE INDEX attributes_by_record ON attributes (seq, key);
"""

SCRIPT = SCHEMA + ATTRIBUTES + REGISTRY + MARK_TABLES + TOKEN_TABLE
"""Creates the tables of an empty ledger. The keyword table of each collection is created separately."""


def _rebuild_word_index(connection: Connection, _: OldFiles) -> None:
    """Create a keyword table for each collection.

    Version 1 had one table for all collections, with deleted records and unnormalised texts.
    """
    for object_name in ("TRIGGER records_fts_insert", "TRIGGER records_fts_update", "TABLE records_fts"):
        connection.execute(f"DROP {object_name}")
    _run_script(connection, REGISTRY)
    for (collection,) in connection.execute("SELECT DISTINCT collection FROM records").fetchall():
        make_word_table(connection, collection)


def _link_uses_to_operations(connection: Connection, _: OldFiles) -> None:
    """Link uses to operations. In version 2 they were not linked, so uses still counted after an undo."""
    connection.execute("ALTER TABLE events ADD COLUMN operation TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE events ADD COLUMN undone INTEGER NOT NULL DEFAULT 0")
    connection.execute("CREATE INDEX events_by_operation ON events (operation) WHERE operation <> ''")


def _move_marks_to_ledger(connection: Connection, read_marks_file: OldFiles) -> None:
    """Move the marks into the ledger. Version 3 had marks in files, and only pending marks in the ledger."""
    pending = connection.execute("SELECT collection, record_id, marks FROM pending_marks").fetchall()
    connection.execute("DROP TABLE pending_marks")
    _run_script(connection, MARK_TABLES + FILE_TABLES)
    fill_tables(connection, pending, read_marks_file)


def _create_token_table(connection: Connection, _: OldFiles) -> None:
    """Create the table of token vectors, which version 4 did not have. `atlas reembed` fills it for older texts."""
    _run_script(connection, TOKEN_TABLE)


def _import_marks_files(connection: Connection, read_marks_file: OldFiles) -> None:
    """Import the marks files for the last time. Up to version 5, users could edit these files."""
    import_files(connection, read_marks_file)


MIGRATIONS: Mapping[int, Callable[[Connection, OldFiles], None]] = {
    1: _rebuild_word_index,
    2: _link_uses_to_operations,
    3: _move_marks_to_ledger,
    4: _create_token_table,
    5: _import_marks_files,
}
"""Migration from each schema version to the next."""


def prepare_schema(database: SqliteDatabase) -> None:
    """Create the tables in an empty file, or migrate an older schema in one transaction, after writing a copy.

    Raises:
        SchemaTooNew: A newer version of ATLAS wrote the store.
        ReadOnlyStore: The schema is older, and the store was opened for reading only, so it cannot be migrated.
        StoreDamaged: The file is a SQLite file, but not a ledger.
    """
    with database.read() as connection:
        version = _read_version(connection, database.path)
    if database.read_only:
        if not version:
            raise ReadOnlyStore(
                f"{database.path} is empty: another process is creating the store now, or was stopped while doing so. "
                "Try again, or open it once with neither read_only nor ATLAS_READ_ONLY set"
            )
        if version < SCHEMA_VERSION:
            raise ReadOnlyStore(
                f"{database.path} has schema {version}, but this version of ATLAS reads schema {SCHEMA_VERSION}. Open "
                "it once without read_only, or ATLAS_READ_ONLY, to migrate it; a copy is kept beside it"
            )
        return
    database.use_wal()
    if version == SCHEMA_VERSION:
        return
    if version:
        _migrate_after_copying(database)
        return
    with database.write() as connection:
        if _read_version(connection, database.path) == 0:  # otherwise another process has created it
            _run_script(connection, SCRIPT)
            initialize(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _migrate_after_copying(database: SqliteDatabase) -> None:
    """Copy an older ledger, and migrate it to this schema. Of concurrent processes, only one migrates."""
    copy = database.path.with_name(f".{database.path.stem}.{uuid4().hex}.sqlite")
    try:
        database.copy_to(copy)
        with database.write() as connection:
            version = _read_version(connection, database.path)
            if version < SCHEMA_VERSION:
                copy.replace(_copy_name(database.path, version))
                migrate(connection, version, marks_file_reader(database.path))
    finally:
        copy.unlink(missing_ok=True)


def migrate(connection: Connection, version: int, read_marks_file: OldFiles) -> None:
    """Migrate a ledger of an older schema to this version, in the caller's transaction.

    Args:
        read_marks_file: Reads the marks files of an older version, which are not part of its ledger.
    """
    for step in range(version, SCHEMA_VERSION):
        MIGRATIONS[step](connection, read_marks_file)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _read_version(connection: Connection, path: Path) -> int:
    """Return the schema version of a ledger, or 0 for an empty file. Raise an error for another program's file."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    n_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if n_tables and application != APPLICATION_ID:
        raise damage_error(path, "the file belongs to another program")
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"{path} has schema {version}, but this version of ATLAS supports schemas up to {SCHEMA_VERSION}. "
            "Update ATLAS; the store is unchanged"
        )
    return version


def _copy_name(path: Path, version: int) -> Path:
    return path.with_name(f"{path.stem}.schema-{version}.sqlite")


def _run_script(connection: Connection, script: str) -> None:
    """Run statements inside the caller's transaction. `executescript` would commit it first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
