"""The ledger's SQLite file: one connection for each thread, explicit transactions, and actionable errors."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from atlas.core.errors import InvalidInput, ReadOnlyStore, StoreError, StoreUnavailable
from atlas.infra.actor import Role, check_role
from atlas.infra.directories import store_removed_error
from atlas.infra.permissions import create_private
from atlas.storage.damage import UnreadableRow, damage_error
from atlas.storage.sql.connection import Dialect, IntegerArray, TextArray
from atlas.storage.sql.connection_pool import ConnectionPool
from atlas.storage.sqlite.dialect import SqliteDialect
from atlas.storage.text.analyzer import expand_for_index

_DAMAGE_CODES = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
)
"""SQLite's error codes for a damaged file.

ATLAS never violates the constraints, so a failing constraint means that indexes and rows differ."""

_DAMAGE_MESSAGES = re.compile(
    r"^no such (?!table: temp\.)|Could not decode to UTF-8|SQL logic error|malformed|syntax error|unrecognized token"
    r"|values for \d+ columns|has no column|vtable constructor failed|user-defined function raised"
)
"""Messages of SQLite about missing tables or columns, which mean that the file was damaged, deleted or replaced while
it was open. Temporary tables are not in the file."""

JOURNAL_SECONDS = 5
"""Time to wait for readers of the WAL before its truncation is postponed."""


class LedgerFile:
    """Checks that the ledger's file exists, was not replaced, and is complete.

    SQLite does not check this: it continues to use a deleted file, so that writes are lost, and answers queries on a
    truncated file from its page cache.

    This class never opens the file, because under POSIX, closing any handle drops all locks of the process on the
    file, including SQLite's. Another process could then delete the journal in use.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.was_opened = False
        """True once the file was opened, so that a missing file is not created again."""

        self._identity: tuple[int, int] | None = None
        """Device and inode of the open file, or None."""

        self._n_bytes = 0
        """Size of the file at the last check."""

        self._is_suspect = False
        """True if the file has shrunk, and has not been checked since. It may have grown again by later writes."""

    def problem(self) -> StoreError | None:
        """Return the error for a missing file, or None."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self._missing_error() if self.was_opened else None
        except OSError:  # SQLite raises an error for missing permissions
            return None
        if self._identity not in (None, (status.st_dev, status.st_ino)):
            return StoreUnavailable(
                f"the file {self.path} has been replaced since the store was opened; nothing was written. Close "
                "the store and open it again"
            )
        return None

    def has_shrunk(self) -> bool:
        """Return whether the file has shrunk since it was opened: it was truncated, restored or vacuumed.

        Raises:
            StoreUnavailable: The file is missing together with its directory, or was replaced.
            StoreDamaged: Only the file is missing.
        """
        problem = self.problem()
        if problem is not None:
            raise problem
        if self._identity is None:
            return False
        n_bytes = self.path.stat().st_size
        self._is_suspect = self._is_suspect or n_bytes < self._n_bytes
        self._n_bytes = n_bytes
        return self._is_suspect

    def check_and_remember_file(self, connection: sqlite3.Connection) -> None:
        """Check the size of the opened file, and remember the file's identity.

        Raises:
            StoreDamaged: The file is smaller than before or than its header declares, and fails SQLite's check.
        """
        status = self.path.stat()
        is_short = not _has_content(self.path, "-wal") and status.st_size < _declared_bytes(connection)
        if self._is_suspect or is_short:
            result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if result != "ok" or not status.st_size:
                raise damage_error(self.path, f"the file is too short, and SQLite's check answers: {result}")
        self.was_opened = True
        self._identity = (status.st_dev, status.st_ino)
        self._n_bytes = status.st_size
        self._is_suspect = False

    def forget_file(self) -> None:
        """Forget the identity of the file, so that another file may be opened at its path."""
        self._identity, self._n_bytes, self._is_suspect = None, 0, False

    def _missing_error(self) -> StoreError:
        if self.path.parent.is_dir():
            return damage_error(self.path, "the file is missing or empty, though the store was in use")
        return store_removed_error(self.path.parent, self.path)


for _kind in (TextArray, IntegerArray):
    sqlite3.register_adapter(_kind, json.dumps)


class SqliteConnection(sqlite3.Connection):
    """A connection with SQLite's dialect of the ledger's SQL."""

    dialect: Dialect = SqliteDialect()

    def stream(self, statement: str) -> sqlite3.Cursor:
        """Run a statement with a cursor that fetches rows in batches."""
        return self.execute(statement)


class SqliteDatabase:
    """A SQLite file in WAL mode. Safe for many threads and many processes. Forked processes reconnect automatically."""

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_seconds: float) -> None:
        self.path = path
        self.read_only = read_only
        self._busy_timeout_seconds = busy_timeout_seconds
        self.on_commit: Callable[[], None] = lambda: None
        self._file = LedgerFile(path)
        self._connections = ConnectionPool(self._connect, is_stale=self._file.has_shrunk)

    is_file = True

    @property
    def directory(self) -> Path:
        """The store's directory."""
        return self.path.parent

    @contextmanager
    def read(self) -> Iterator[SqliteConnection]:
        """Yield a connection whose statements read one snapshot of the store."""
        outer = self._connections.current_connection()
        if outer is not None and outer.in_transaction:
            with self._translate_errors():
                yield outer
            return
        with self._translate_errors(), self._connections.connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
                connection.commit()  # otherwise its temporary tables and prepared data would be lost
            finally:
                connection.rollback()

    @contextmanager
    def session(self) -> Iterator[SqliteConnection]:
        """Yield this thread's connection, for temporary tables. Each statement is its own transaction."""
        with self._translate_errors(), self._connections.connection() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[SqliteConnection]:
        """Yield a connection in a write transaction: committed at the block's end, rolled back on any error.

        Raises:
            NotAllowed: The actor is a viewer.
            ReadOnlyStore: The store was opened for reading only.
            StoreUnavailable: Another writer locked the store for too long, or the disk is full or not writable.
        """
        if self.read_only:
            raise ReadOnlyStore(
                f"the store at {self.path.parent} was opened for reading only; open it without read_only"
            )
        check_role(Role.WRITER, "change the store")
        with self._translate_errors(), self._connections.connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.rollback()
                raise
        self.on_commit()

    def use_wal(self) -> None:
        """Switch the file to WAL mode permanently. First check that it is a ledger, because this writes to the file."""
        with self.session() as connection:
            connection.execute("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """Close idle connections now, and each connection in use when it is released. The next use opens new ones."""
        self._connections.close(self._file.forget_file)

    def copy_to(self, target: Path) -> None:
        """Copy a snapshot of the file while other processes write (SQLite's online backup).

        Raises:
            StoreUnavailable: The copy cannot be written.
        """
        try:
            create_private(target)
        except OSError as error:
            raise StoreUnavailable(
                f"{self.path} cannot be copied to {target.parent} ({error.strerror}); check the "
                "permissions of the directory"
            ) from error
        with self._translate_errors():
            copy = sqlite3.connect(target)
            try:
                with self._connections.connection() as connection:
                    connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
            finally:
                copy.close()

    def replace_with(self, source: Path) -> None:
        """Replace the file's content by another file's, atomically for all other processes."""
        with self._translate_errors():
            source_connection = sqlite3.connect(source)
            try:
                with self._connections.connection() as connection:
                    source_connection.backup(connection)
            finally:
                source_connection.close()
        self.on_commit()

    def rewrite(self) -> None:
        """Rewrite the whole file, so that its pages contain no deleted data. Other processes may read at the same time.

        Raises:
            StoreUnavailable: Another process was writing, or the disk has no space for a second copy.
        """
        with self._translate_errors(), closing(self._connect()) as connection:
            connection.execute("PRAGMA temp_store = FILE")  # a large store need not fit into memory
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("VACUUM")

    def n_bytes_on_server(self) -> int:
        """Return 0, because the whole ledger is in the store's directory."""
        return 0

    def identity(self) -> str:
        """Return the file's identity (machine, file system, inode), which survives renaming, but not copying.

        Machines without a machine id are not distinguished.
        """
        status = self.path.stat()
        return f"sqlite-{_machine_id()}-{status.st_dev}-{status.st_ino}"

    def check(self) -> str:
        """Return the damage that SQLite finds in the file, or an empty string."""
        with self.session() as connection:
            rows = [row[0] for row in connection.execute("PRAGMA integrity_check(5)").fetchall()]
        return "" if rows == ["ok"] else f"SQLite finds: {'; '.join(rows)}"

    def leave_wal(self) -> None:
        """Merge the WAL into a file that nobody else has open, so that the file is complete without its WAL."""
        with self.session() as connection:
            connection.execute("PRAGMA journal_mode = DELETE")

    def truncate_wal(self) -> bool:
        """Truncate the WAL after a checkpoint and return True, or return False while a reader needs it."""
        with self._translate_errors(), closing(self._connect()) as connection:
            connection.execute(f"PRAGMA busy_timeout = {JOURNAL_SECONDS * 1000}")
            is_busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy

    def _connect(self) -> SqliteConnection:
        writing_mode = "rw" if self._file.was_opened else "rwc"
        uri = f"file:{_uri_path(self.path)}?mode={'ro' if self.read_only else writing_mode}"
        try:
            return self._open_connection(uri)
        except sqlite3.OperationalError:
            # WAL mode creates a -shm file, which fails in a read-only directory. Such a directory has no writers.
            if not self.read_only or os.access(self.path.parent, os.W_OK) or _has_content(self.path, "-wal"):
                raise
            return self._open_connection(f"{uri}&immutable=1")

    def _open_connection(self, uri: str) -> SqliteConnection:
        """Return a new connection to the file, with the settings and SQL functions of the ledger."""
        connection = sqlite3.connect(
            uri,
            uri=True,
            timeout=self._busy_timeout_seconds,
            isolation_level=None,
            check_same_thread=False,
            factory=SqliteConnection,
        )
        try:
            if not self.read_only:
                connection.execute("PRAGMA page_size = 8192")
                connection.execute("PRAGMA synchronous = FULL")
            connection.create_function("float_from_hex", 1, float.fromhex, deterministic=True)
            connection.create_function("searchable", 1, expand_for_index, deterministic=True)
            connection.execute("PRAGMA trusted_schema = ON")  # or the view and triggers may not call `expand_for_index`
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -32000")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            self._file.check_and_remember_file(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Convert errors of SQLite in the block to errors of ATLAS."""
        try:
            yield
        except (sqlite3.DatabaseError, UnreadableRow) as error:
            raise self._to_store_error(error) from error
        except UnicodeDecodeError as error:  # damaged text in the schema, or in an error message
            raise damage_error(self.path, str(error)) from error
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"{error.object[:40]!r} contains a lone surrogate, which is not valid text; remove it"
            ) from error

    def _to_store_error(self, error: sqlite3.DatabaseError | UnreadableRow) -> Exception:
        """Return the error to raise for an error of SQLite."""
        problem = self._file.problem()
        if problem is not None:
            return problem
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGE_CODES or isinstance(error, UnreadableRow) or _DAMAGE_MESSAGES.search(str(error)):
            return damage_error(self.path, str(error))
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreUnavailable(
                f"another process kept {self.path} locked for over {self._busy_timeout_seconds:g} s; "
                "nothing was written. Try again, or look for a stuck process"
            )
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            return StoreUnavailable(
                f"the disk of {self.path} is full or failing ({error}); nothing was written. Check the disk"
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return StoreUnavailable(
                f"{self.path} cannot be opened for {'reading' if self.read_only else 'writing'} ({error}); check the "
                "permissions of the file and its directory, or open the store with ATLAS_READ_ONLY=1"
            )
        return error


def _has_content(path: Path, suffix: str) -> bool:
    """Return whether the file whose name is a path's with a suffix exists and is not empty."""
    sibling = path.with_name(path.name + suffix)
    return sibling.exists() and sibling.stat().st_size > 0


def _declared_bytes(connection: sqlite3.Connection) -> int:
    """Return the size of the file according to SQLite's page count."""
    (n_pages,), (page_size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    return int(n_pages) * int(page_size)


def _uri_path(path: Path) -> str:
    """Return a path in the form of a SQLite URI."""
    return path.resolve().as_posix().replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _machine_id() -> str:
    """Return the id of this machine, or an empty string."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
