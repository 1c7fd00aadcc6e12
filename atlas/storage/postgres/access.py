"""Access rights and audit log of a store in PostgreSQL, shared by all servers of the store.

`AccessTables` uses connections of its own, so it reads the latest values even inside a snapshot of the records, and
writes events for every role.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from atlas.core.address import Address
from atlas.infra.access_files import AccessDirectory
from atlas.protocols.access import AUDIT, KEYS, LINKS, PEOPLE, StoredText
from atlas.storage.postgres.database import PostgresDatabase
from atlas.storage.postgres.schema import prepare_schema

MIGRATED_NAME = "{}.taken"
"""Name of an older version's file after its migration to the database."""

_WAIT_SECONDS = 60.0

_REPLACE_SQL = """
    INSERT INTO access_texts AS stored (name, version, content)
    VALUES (%s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, %s)
    ON CONFLICT (name) DO UPDATE SET
        version = greatest(stored.version + 1, excluded.version), content = excluded.content
"""

_ADD_LINE_SQL = "INSERT INTO audit_lines (line) SELECT %s WHERE NOT EXISTS (SELECT FROM audit_lines WHERE line = %s)"
"""Adds a line of an older version's file, unless an interrupted migration has added it already."""


class AccessTables:
    """The access rights of one store as texts, and the lines of its audit log."""

    def __init__(self, address: Address, directory: Path) -> None:
        """Use the texts at an address. The server is contacted on first use.

        Args:
            directory: Directory of the store's local files, where older versions stored the texts.
        """
        self._database = PostgresDatabase(address, directory, read_only=False, busy_timeout_seconds=_WAIT_SECONDS)
        self._is_ready = False
        self._lock = threading.Lock()

    def text(self, name: str) -> AccessRow:
        """Return the row that stores a named text."""
        return AccessRow(self._prepare(), name)

    def add_audit_line(self, line: str) -> None:
        """Add a line to the audit log, durably."""
        with self._prepare().separate_connection() as connection:
            connection.execute("INSERT INTO audit_lines (line) VALUES (%s)", (line,))

    def lines(self) -> list[str]:
        """Return the lines of the audit log, the oldest first."""
        with self._prepare().session() as connection:
            return [line for (line,) in connection.execute("SELECT line FROM audit_lines ORDER BY seq").fetchall()]

    def last_purge(self) -> str:
        """Return the id of the last purge, or an empty string. Older copies may contain purged records."""
        with self._prepare().session() as connection:
            row = connection.execute(
                "SELECT id FROM operations WHERE kind = 'purge' ORDER BY seq DESC LIMIT 1"
            ).fetchone()
        return row[0] if row else ""

    def close(self) -> None:
        """Close the connections. The next use opens new ones."""
        self._database.close()

    def _prepare(self) -> PostgresDatabase:
        """Return the database with its tables, after migrating the access files of this machine."""
        with self._lock:
            if not self._is_ready:
                prepare_schema(self._database, create=False)
                self._migrate_files(AccessDirectory(self._database.directory))
                self._is_ready = True
        return self._database

    def _migrate_files(self, files: AccessDirectory) -> None:
        """Move this machine's access files of older versions into the database. Entries in the database are kept."""
        for name in (KEYS, PEOPLE, LINKS):
            if file_text := files.text(name).read():
                row = AccessRow(self._database, name)
                with row.edit() as replace:
                    stored_text = row.read()
                    stored = json.loads(stored_text.text) if stored_text else {}
                    replace(json.dumps(json.loads(file_text.text) | stored, indent=1))
                _rename_migrated(files.directory / name)
        if lines := files.lines():
            with (
                self._database.separate_connection() as connection,
                connection.transaction(),
                connection.cursor() as cursor,
            ):
                cursor.executemany(_ADD_LINE_SQL, [(line, line) for line in lines])
            _rename_migrated(files.directory / AUDIT)


@dataclass(frozen=True, slots=True)
class AccessRow:
    """The text of an access file, as a row of the table `access_texts`."""

    database: PostgresDatabase
    name: str

    def __str__(self) -> str:
        """Return the text's name and the database's address."""
        return f"{self.name} of {self.database.address}"

    def read(self, previous: StoredText | None = None) -> StoredText | None:
        """Return the current text, or None if there is none yet. Without a change, return the text `previous`."""
        with self.database.session() as connection:
            row = connection.execute(
                "SELECT version, CASE WHEN version = ? THEN '' ELSE content END FROM access_texts WHERE name = ?",
                (previous.version if previous else -1, self.name),
            ).fetchone()
        if row is None:
            return None
        return previous if previous is not None and previous.version == row[0] else StoredText(row[0], row[1])

    @contextmanager
    def edit(self) -> Iterator[Callable[[str], None]]:
        """Yield a function that replaces the text, in a block that excludes all other writers on every machine."""
        with self.database.separate_connection() as connection, connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = {int(_WAIT_SECONDS * 1000)}")
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
                (f"atlas {self.database.address.schema} {self.name}",),
            )
            yield partial(_replace, connection, self.name)


def _replace(connection: psycopg.Connection[Any], name: str, text: str) -> None:
    connection.execute(_REPLACE_SQL, (name, text))


def _rename_migrated(path: Path) -> None:
    """Rename a file of an older version after its migration, so that it is not migrated again."""
    path.replace(path.with_name(MIGRATED_NAME.format(path.name)))
