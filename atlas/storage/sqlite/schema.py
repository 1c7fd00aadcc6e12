"""The ledger's tables, and the way from an older schema to this one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import uuid4

from atlas.core.errors import ReadOnlyStore, SchemaTooNew
from atlas.storage.damage import damaged
from atlas.storage.sql.connection import Connection
from atlas.storage.sql.marks import TABLES as MARK_TABLES
from atlas.storage.sql.token_vectors import TABLE as TOKEN_TABLE
from atlas.storage.sqlite.database import SqliteDatabase
from atlas.storage.sqlite.mark_migration import OldFiles, files_beside, keep_marks
from atlas.storage.sqlite.words.fts_tables import REGISTRY, make_word_table

APPLICATION_ID = 0x41544C53  # "ATLS", so that `file` and we can tell a ledger from any other SQLite file
SCHEMA_VERSION = 5

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('revision', '0');
INSERT INTO meta VALUES ('ledger_id', lower(hex(randomblob(16))));  -- another one after each restore

-- One row a record. A deleted one stays as an empty tombstone, so that every follower of revisions learns of it.
-- Narrow columns first: SQLite reads a row's start without its overflow pages.
CREATE TABLE records (
    seq          INTEGER PRIMARY KEY,
    collection   TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    deleted      INTEGER NOT NULL DEFAULT 0,
    n_windows    INTEGER NOT NULL,               -- the most vectors it ever had: what an index may hold of it
    content_hash TEXT    NOT NULL,
    text_hash    BLOB    NOT NULL,               -- of the document: the same text is embedded once
    stored_at    TEXT    NOT NULL,
    metadata     TEXT    NOT NULL,
    document     TEXT    NOT NULL,
    search_text  TEXT    NOT NULL,
    content      TEXT    NOT NULL,
    UNIQUE (collection, id)
);
CREATE INDEX records_by_revision ON records (collection, revision);
CREATE INDEX records_live        ON records (collection, seq) WHERE deleted = 0;
CREATE INDEX records_by_text     ON records (text_hash) WHERE deleted = 0;
CREATE INDEX records_by_hash     ON records (collection, content_hash) WHERE deleted = 0;

CREATE TABLE vectors (
    seq    INTEGER NOT NULL REFERENCES records (seq),
    window INTEGER NOT NULL,
    vector BLOB    NOT NULL,                     -- float32, little endian, unit length
    UNIQUE (seq, window)
);

-- Metadata once more, a row a value, for filters and sorting.
CREATE TABLE attribute_keys (
    key        INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    name       TEXT NOT NULL,
    UNIQUE (collection, name)
);
CREATE TABLE attributes (
    key   INTEGER NOT NULL,
    value NOT NULL,
    seq   INTEGER NOT NULL,
    PRIMARY KEY (key, value, seq)
) WITHOUT ROWID;
CREATE INDEX attributes_by_record ON attributes (seq, key);


-- History: what was done, and each touched record as it was before. `state_after` names the state that a change left
-- behind; undoing restores the earlier name, so "changed since" is a comparison of two numbers.
CREATE TABLE operations (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    kind       TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    created_at TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    undoes     TEXT,
    undone_by  TEXT,
    added      INTEGER NOT NULL DEFAULT 0,
    changed    INTEGER NOT NULL DEFAULT 0,
    removed    INTEGER NOT NULL DEFAULT 0,
    marked     INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE changes (
    seq          INTEGER PRIMARY KEY,
    operation    TEXT    NOT NULL REFERENCES operations (id),
    aspect       TEXT    NOT NULL,               -- 'record' or 'marks'
    collection   TEXT    NOT NULL,
    record_id    TEXT    NOT NULL,
    state_before INTEGER NOT NULL,
    state_after  INTEGER,                        -- NULL: a state of its own, named by `seq`
    before       TEXT,                           -- JSON; NULL where there was nothing
    vectors      BLOB                            -- the record's vectors before, one after another
);
CREATE INDEX changes_by_operation ON changes (operation, seq);
CREATE INDEX changes_by_record    ON changes (collection, record_id, aspect, seq);

-- What agents did with a record: each use with its outcome, and totals that are kept in the same transaction.
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    collection TEXT    NOT NULL,
    record_id  TEXT    NOT NULL,
    kind       TEXT    NOT NULL,                 -- 'use'
    success    INTEGER NOT NULL,
    task_id    TEXT    NOT NULL,
    created_at TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    operation  TEXT    NOT NULL DEFAULT '',      -- that it is part of; empty where it belongs to none
    undone     INTEGER NOT NULL DEFAULT 0        -- if its operation is undone 1, if it waits 2
);
CREATE INDEX events_by_record    ON events (collection, record_id, seq);
CREATE INDEX events_by_operation ON events (operation) WHERE operation <> '';
CREATE TABLE usage (
    collection        TEXT    NOT NULL,
    record_id         TEXT    NOT NULL,
    n_uses            INTEGER NOT NULL DEFAULT 0,
    n_successes       INTEGER NOT NULL DEFAULT 0,
    last_used_at      TEXT,
    n_retrieved       INTEGER NOT NULL DEFAULT 0,
    last_retrieved_at TEXT,
    PRIMARY KEY (collection, record_id)
) WITHOUT ROWID;
"""


def _index_words_anew(connection: Connection, _: OldFiles) -> None:
    """Give each collection a table of words: version 1 had one for all, with deleted records, each text as it is."""
    for what in ("TRIGGER records_fts_insert", "TRIGGER records_fts_update", "TABLE records_fts"):
        connection.execute(f"DROP {what}")
    _run_script(connection, REGISTRY)
    for (collection,) in connection.execute("SELECT DISTINCT collection FROM records").fetchall():
        make_word_table(connection, collection)


def _let_uses_belong_to_operations(connection: Connection, _: OldFiles) -> None:
    """Let uses belong to operations: in version 2 they belonged to none, so undoing one left them counted."""
    connection.execute("ALTER TABLE events ADD COLUMN operation TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE events ADD COLUMN undone INTEGER NOT NULL DEFAULT 0")
    connection.execute("CREATE INDEX events_by_operation ON events (operation) WHERE operation <> ''")


def _keep_marks_in_the_ledger(connection: Connection, marks: OldFiles) -> None:
    """Let the ledger hold the marks: version 3 kept them in their files alone, and here those on their way there."""
    pending = connection.execute("SELECT collection, record_id, marks FROM pending_marks").fetchall()
    connection.execute("DROP TABLE pending_marks")
    _run_script(connection, MARK_TABLES)
    keep_marks(connection, pending, marks)


def _make_room_for_token_vectors(connection: Connection, _: OldFiles) -> None:
    """Make room for token vectors, which version 4 did not have. `atlas reembed` makes them of older texts."""
    _run_script(connection, TOKEN_TABLE)


MIGRATIONS: Mapping[int, Callable[[Connection, OldFiles], None]] = {
    1: _index_words_anew,
    2: _let_uses_belong_to_operations,
    3: _keep_marks_in_the_ledger,
    4: _make_room_for_token_vectors,
}
"""From each older schema version, the step to the next."""


def prepare_schema(database: SqliteDatabase) -> None:
    """Create the tables in an empty file, or bring an older schema up to this one in one transaction, after a copy.

    Raises:
        SchemaTooNew: A newer version of ATLAS wrote the store.
        ReadOnlyStore: An older one did, and the store was opened for reading only, so it cannot be brought up to date.
        StoreDamaged: The file is a SQLite file, but not a ledger.
    """
    with database.read() as connection:
        version = _check_version(connection, database.path)
    if database.read_only:
        if 0 < version < SCHEMA_VERSION:
            raise ReadOnlyStore(
                f"{database.path} has schema {version}, but this version of ATLAS reads schema {SCHEMA_VERSION}. Open "
                "it once without read_only, or ATLAS_READ_ONLY, to bring it up to date; a copy is kept beside it"
            )
        return
    database.use_wal()
    if version == SCHEMA_VERSION:
        return
    if version:
        _migrate_after_copying(database)
        return
    with database.write() as connection:
        if _check_version(connection, database.path) == 0:  # else another process has come first
            _run_script(connection, SCHEMA + REGISTRY + MARK_TABLES + TOKEN_TABLE)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _migrate_after_copying(database: SqliteDatabase) -> None:
    """Bring an older ledger up to this schema. Of several processes that try at once one does, and its copy is kept."""
    copy = database.path.with_name(f".{database.path.stem}.{uuid4().hex}.sqlite")
    try:
        database.copy_to(copy)
        with database.write() as connection:
            version = _check_version(connection, database.path)
            if version < SCHEMA_VERSION:
                copy.replace(_copy_name(database.path, version))
                migrate(connection, version, files_beside(database.path))
    finally:
        copy.unlink(missing_ok=True)


def migrate(connection: Connection, version: int, marks: OldFiles) -> None:
    """Bring a ledger of an older schema up to this one, in the caller's transaction.

    Args:
        marks: Reads the marks files of an older version, which are not part of its ledger.
    """
    for older in range(version, SCHEMA_VERSION):
        MIGRATIONS[older](connection, marks)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _check_version(connection: Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    n_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if n_tables and application != APPLICATION_ID:
        raise damaged(path, "it is a SQLite file of another program")
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"{path} has schema {version}, but this version of ATLAS knows schemas up to {SCHEMA_VERSION}. "
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
