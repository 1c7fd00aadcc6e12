"""Copies of a ledger's file: creation, validation and restoration."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from atlas.core.errors import InvalidInput, StoreError
from atlas.core.operations import Marks
from atlas.protocols.infra import Clock
from atlas.storage.damage import UnreadableRow, damage_error
from atlas.storage.history import Reword, UnfinishedPurge
from atlas.storage.marks.files import marks_file
from atlas.storage.records import CopyContents, OperationDraft
from atlas.storage.sql.checks import foreign_problem
from atlas.storage.sql.connection import Connection, Database
from atlas.storage.sql.history.purging import SqlPurges, note_unfinished
from atlas.storage.sql.marks import check_marks_table
from atlas.storage.sql.meta import (
    IS_PURGED,
    PURGED_PREFIX,
    read_ledger_id,
    read_model,
    read_moment,
    read_notes,
    read_purge_id,
    renew_ledger_id,
)
from atlas.storage.sqlite.database import SqliteConnection, SqliteDatabase
from atlas.storage.sqlite.reference import foreign_objects
from atlas.storage.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION, migrate

BUSY_SECONDS = 60.0


class SqliteCopies:
    """Backup and restoration of a SQLite ledger."""

    def __init__(self, database: SqliteDatabase, clock: Clock) -> None:
        self._database = database
        self._purges = SqlPurges(database, clock)
        self._clock = clock

    def write(self, target: Path) -> int:
        """Write a consistent copy of the ledger, and return its number of records.

        Raises:
            StoreDamaged: The copy could not be restored.
            InvalidInput: The ledger's schema has objects that ATLAS did not create. A restore would refuse the copy.
        """
        self._database.copy_to(target)
        with closing(_connect(target)) as connection:
            try:
                result = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
                foreign = foreign_objects(connection)
                count = int(connection.execute("SELECT count(*) FROM records WHERE deleted = 0").fetchone()[0])
            except sqlite3.DatabaseError as error:
                raise damage_error(self._database.path, str(error)) from error
        if result != "ok":
            raise damage_error(self._database.path, result)
        if foreign:
            raise InvalidInput(f"{foreign_problem(foreign)}. Nothing was copied")
        return count

    def leave_out_hidden(self, copy: Path, operation: OperationDraft, reword: Reword | None) -> int:
        """Remove deleted, pending and quarantined records from a copy, and return their number.

        Args:
            copy: A ledger's file that nothing else has open.
            operation: The purge that the copy's history shows if records are removed.
        """
        database = SqliteDatabase(copy, read_only=False, busy_timeout_seconds=BUSY_SECONDS)
        purges = SqlPurges(database, self._clock)
        try:
            with database.read() as connection:
                hidden_keys, moment = _read_hidden_keys(connection), read_moment(connection)
            if hidden_keys:
                purges.purge(hidden_keys, operation, UnfinishedPurge(), unchanged_since=moment, reword=reword)
                purges.note_finished([operation.id])
                purges.rewrite(sorted({collection for collection, _ in hidden_keys}))
        finally:
            database.close()
        with closing(_connect(copy)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")  # so that readers of the copy write no files
        return len(hidden_keys)

    def check(self, copy: Path, source: Path, marks: Mapping[str, Mapping[str, Marks]] | None) -> None:
        """Validate a copy, and migrate it if its schema is older.

        Args:
            source: The backup file that the copy was unpacked from, for error messages.
            marks: The marks of the backup, by collection; None for backups without marks.

        Raises:
            InvalidInput: The copy cannot be used.
        """
        try:
            version = _read_version(source, copy)
            _check_schema(source, copy, version)
            _check_integrity(source, copy)
            if version < SCHEMA_VERSION:
                _migrate(copy, version, marks)
                _check_schema(source, copy, SCHEMA_VERSION)
            with closing(_connect(copy)) as connection:
                _check_names_and_marks(source, connection)
        except (sqlite3.DatabaseError, StoreError) as error:
            raise InvalidInput(
                f"the ledger in {source} is damaged ({error}); the store is unchanged. Use another backup"
            ) from error

    def contents(self, copy: Path) -> CopyContents:
        """Return the record counts and the embedding model of a copy.

        Raises:
            InvalidInput: The model cannot be read.
        """
        with closing(_connect(copy)) as connection:
            query = "SELECT collection, count(*) FROM records WHERE deleted = 0 GROUP BY collection"
            counts = {str(name): int(n) for name, n in connection.execute(query)}
            try:
                model = read_model(connection)
            except UnreadableRow as error:
                raise InvalidInput(
                    f"the backup cannot be used ({error}); the store is unchanged. Use another backup"
                ) from error
        return CopyContents(counts=counts, model=model[0] if model else "")

    def find_purged(self, copy: Path) -> tuple[str, ...]:
        """Return the ids of purged records that a copy still contains, live or in its history."""
        return find_purged(self._database, copy)

    def restore(self, copy: Path) -> None:
        """Replace the ledger by a copy, in one transaction.

        The restored ledger gets a new id, so that every index is built again. Unfinished purges stay unfinished.
        """
        with closing(_connect(copy)) as connection, connection:
            renew_ledger_id(connection)
            note_unfinished(connection, self._purges.unfinished())
        self._database.replace_with(copy)


def _connect(path: Path) -> SqliteConnection:
    return sqlite3.connect(path, factory=SqliteConnection)


def find_purged(database: Database, copy: Path) -> tuple[str, ...]:
    """Return the ids of records that were purged from a ledger, but are still in a copy."""
    with database.read() as connection:
        purged_keys = [name.partition(":") for name in read_notes(connection, PURGED_PREFIX)]
    with closing(_connect(copy)) as copy_connection:
        ids = (
            record_id
            for collection, _, record_id in purged_keys
            if read_purge_id(copy_connection, collection, record_id) is None
            and copy_connection.execute(
                "SELECT 1 FROM records WHERE collection = ? AND id = ?", (collection, record_id)
            ).fetchone()
        )
        return tuple(dict.fromkeys(ids))


def read_ledger_id_at(path: Path) -> str:
    """Return the id of the ledger at a path."""
    database = SqliteDatabase(path, read_only=True, busy_timeout_seconds=BUSY_SECONDS)
    try:
        with database.read() as connection:
            return read_ledger_id(connection)
    finally:
        database.close()


def _read_hidden_keys(connection: Connection) -> list[tuple[str, str]]:
    """Return the collection and id of each record that is deleted, waits for review, or is in quarantine."""
    return connection.execute(
        f"SELECT r.collection, r.id FROM records r WHERE NOT {IS_PURGED} AND (r.deleted <> 0 OR EXISTS "
        "(SELECT 1 FROM marks m WHERE m.collection = r.collection AND m.record_id = r.id "
        "AND m.name IN ('held_for', 'quarantine'))) "
        "ORDER BY r.seq"
    ).fetchall()


def _read_version(source: Path, ledger: Path) -> int:
    """Return the ledger's schema version, or raise `InvalidInput` if the ledger is damaged or its schema is newer."""
    with closing(_connect(ledger)) as connection:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application != APPLICATION_ID:
        raise InvalidInput(f"the ledger in {source} is damaged; the store is unchanged. Use another backup")
    if not 0 < version <= SCHEMA_VERSION:
        raise InvalidInput(
            f"{source} has schema {version}, but this version of ATLAS restores schemas up to {SCHEMA_VERSION}. "
            "Update ATLAS; the store is unchanged"
        )
    return version


def _check_schema(source: Path, ledger: Path, version: int) -> None:
    """Raise `InvalidInput` for foreign objects in the schema, such as a trigger, which the next write would run.

    Call it before statements that evaluate checks and generated columns.
    """
    with closing(_connect(ledger)) as connection:
        foreign = foreign_objects(connection, version)
    if foreign:
        raise InvalidInput(
            f"the ledger in {source} contains objects that ATLAS did not create: {', '.join(foreign[:5])}. Somebody "
            "may have changed the backup, so use another one; the store is unchanged"
        )


def _check_integrity(source: Path, ledger: Path) -> None:
    """Raise `InvalidInput` if SQLite finds damage in the file of a copy."""
    with closing(_connect(ledger)) as connection:
        result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if result != "ok":
        raise InvalidInput(f"the ledger in {source} is damaged ({result}); the store is unchanged. Use another backup")


def _migrate(ledger: Path, version: int, marks: Mapping[str, Mapping[str, Marks]] | None) -> None:
    """Migrate a copy with an older schema. For the marks, see `SqliteCopies.check`."""
    database = SqliteDatabase(ledger, read_only=False, busy_timeout_seconds=0)
    try:
        with database.write() as connection:
            migrate(connection, version, lambda collection: None if marks is None else marks.get(collection, {}))
    finally:
        database.close()


def _check_names_and_marks(source: Path, connection: Connection) -> None:
    """Raise `InvalidInput` for an invalid name of a collection, or an invalid mark."""
    try:
        for table in ("records", "changes", "marks"):
            for (collection,) in connection.execute(f"SELECT DISTINCT collection FROM {table}"):
                marks_file(str(collection))
        check_marks_table(connection)
    except InvalidInput as error:
        raise InvalidInput(
            f"the ledger in {source} cannot be used ({error}); the store is unchanged. Use another backup"
        ) from error
