"""Copies of a ledger in PostgreSQL. Each copy is a SQLite ledger, as in a store in a directory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from atlas.core.errors import InvalidInput
from atlas.core.operations import Marks
from atlas.infra.permissions import create_private
from atlas.protocols.infra import Clock
from atlas.storage.history import Reword
from atlas.storage.postgres.database import PostgresDatabase
from atlas.storage.postgres.foreign import foreign_objects
from atlas.storage.records import CopyContents, OperationDraft
from atlas.storage.sql.checks import foreign_problem
from atlas.storage.sql.copying import clear_ledger, copy_ledger
from atlas.storage.sql.history.purging import SqlPurges, note_unfinished
from atlas.storage.sql.meta import renew_ledger_id
from atlas.storage.sqlite.copies import SqliteCopies, find_purged
from atlas.storage.sqlite.database import SqliteDatabase
from atlas.storage.sqlite.schema import prepare_schema

BUSY_SECONDS = 60.0


class PostgresCopies:
    """Backup and restoration of a PostgreSQL ledger."""

    def __init__(self, database: PostgresDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def write(self, target: Path) -> int:
        """Write a consistent copy of the ledger, and return its number of records.

        Raises:
            InvalidInput: The ledger's schema has foreign objects.
        """
        create_private(target)
        copy = SqliteDatabase(target, read_only=False, busy_timeout_seconds=BUSY_SECONDS)
        try:
            prepare_schema(copy)
            with self._database.read() as source, copy.write() as target_connection:
                if foreign := foreign_objects(source):
                    raise InvalidInput(f"{foreign_problem(foreign)}. Nothing was copied")
                copy_ledger(source, lambda: nullcontext(target_connection))
                count = source.execute("SELECT count(*) FROM records WHERE deleted = 0").fetchone()[0]
            copy.leave_wal()
        finally:
            copy.close()
        return int(count)

    def leave_out_hidden(self, copy: Path, operation: OperationDraft, reword: Reword | None) -> int:
        """Remove deleted, pending and quarantined records from a copy, and return their number."""
        return self._copies_of(copy).leave_out_hidden(copy, operation, reword)

    def check(self, copy: Path, source: Path, marks: Mapping[str, Mapping[str, Marks]] | None) -> None:
        """Validate a copy of the ledger, and migrate it if its schema is older."""
        self._copies_of(copy).check(copy, source, marks)

    def contents(self, copy: Path) -> CopyContents:
        """Return the record counts and the embedding model of a copy."""
        return self._copies_of(copy).contents(copy)

    def find_purged(self, copy: Path) -> tuple[str, ...]:
        """Return the ids of purged records that a copy still contains, live or in its history."""
        return find_purged(self._database, copy)

    def restore(self, copy: Path) -> None:
        """Replace the ledger by a copy, in one transaction."""
        unfinished = SqlPurges(self._database, self._clock).unfinished()
        source = SqliteDatabase(copy, read_only=False, busy_timeout_seconds=BUSY_SECONDS)
        try:
            with source.read() as source_connection, self._database.write() as target_connection:
                if foreign := foreign_objects(target_connection):
                    raise InvalidInput(f"{foreign_problem(foreign)}. Nothing was restored")
                clear_ledger(target_connection)
                copy_ledger(source_connection, lambda: nullcontext(target_connection))
                renew_ledger_id(target_connection)
                note_unfinished(target_connection, unfinished)
        finally:
            source.close()

    def _copies_of(self, copy: Path) -> SqliteCopies:
        return SqliteCopies(SqliteDatabase(copy, read_only=True, busy_timeout_seconds=BUSY_SECONDS), self._clock)
