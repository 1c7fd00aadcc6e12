"""A PostgreSQL schema as a ledger's database: thread-local connections, a single writer, and actionable errors.

A writer locks the row of the revision until it has committed. So revisions and change numbers are committed in order,
and a reader never misses an earlier one. With a sequence alone, a follower lost 412 of 2,668 commits, because
transactions commit in another order than they begin.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors, sql
from psycopg.pq import TransactionStatus

from atlas.core.address import Address
from atlas.core.errors import InvalidInput, ReadOnlyStore, StoreUnavailable
from atlas.infra.actor import Role, check_role
from atlas.storage.damage import UnreadableRow, damage_error
from atlas.storage.postgres import postings
from atlas.storage.postgres.dialect import PostgresDialect
from atlas.storage.postgres.statements import translate
from atlas.storage.postgres.types import register
from atlas.storage.sql.connection import Dialect, Rows, Stream
from atlas.storage.sql.connection_pool import ConnectionPool

_INSERT = re.compile(r"INSERT INTO (\w+)")
_PLAIN_INSERT = re.compile(r"INSERT INTO (\w+(?: \([^)]*\))?) VALUES \((?:%s, )*%s\)")

_INSERT_UNLESS_PRESENT = re.compile(r"INSERT INTO (\w+) \(([^)]*)\) VALUES \((?:%s, )*%s\) ON CONFLICT DO NOTHING")

REFERENCED_TABLES = ("records", "operations")
"""Tables that foreign keys refer to. They are written first."""

FEW_ROWS = 200
"""Number of rows up to which single inserts are faster, if some rows may exist already."""

MAX_ROWS = 50_000
"""Maximum size of the write buffer, in rows."""

FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.01, 0.25
"""Initial and final intervals between attempts to acquire a lock."""

_IDENTITY = """
SELECT (SELECT system_identifier FROM pg_control_system()),
       (SELECT oid::bigint FROM pg_database WHERE datname = current_database()),
       'meta'::regclass::oid::bigint
"""

_KEEPALIVE_SQL = """
SET tcp_keepalives_idle = 20;
SET tcp_keepalives_interval = 5;
SET tcp_keepalives_count = 3;
"""
"""TCP keepalive settings, so that the server releases the locks of a dead machine within a minute."""


class PostgresConnection:
    """A psycopg connection that accepts the ledger's SQL statements."""

    dialect: Dialect = PostgresDialect()

    def __init__(self, connect: Callable[[], psycopg.Connection[tuple[Any, ...]]]) -> None:
        """Connect to the server.

        Args:
            connect: Function that opens a connection, called again if the server was restarted.
        """
        self._connect = connect
        self.raw = connect()
        self.pending_words = postings.PendingWords()
        self._pending_rows: dict[tuple[str, str], list[Sequence[Any]]] = {}
        """Rows to insert, keyed by table and statement. Batches of several thousand rows are ten times faster."""

    @property
    def in_transaction(self) -> bool:
        """True inside a transaction."""
        return self.raw.info.transaction_status != TransactionStatus.IDLE

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> Rows:
        """Run a statement. Outside of a transaction, run the statement again if the connection was lost."""
        self._write_rows_if_named_in(statement)
        query, was_idle = translate(statement), not self.in_transaction
        try:
            return self.raw.execute(query.text, query.arrange(parameters), binary=True)  # vectors take half the bytes
        except psycopg.OperationalError:
            if not (was_idle and self.raw.closed):
                raise
        self.raw = self._connect()
        return self.raw.execute(query.text, query.arrange(parameters), binary=True)

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each set of parameters. Inserts are buffered until their table is read."""
        if insert := _INSERT.match(statement):
            rows = self._pending_rows.setdefault((insert[1], statement), [])
            rows.extend(parameters)
            if len(rows) > MAX_ROWS:
                self.write_rows()
            return
        self._write_rows_if_named_in(statement)
        self._execute_each(statement, parameters)

    def stream(self, statement: str) -> Stream:
        """Run a statement with a server-side cursor. The caller must be in a transaction."""
        self._write_rows_if_named_in(statement)
        cursor = self.raw.cursor("stream")
        cursor.execute(translate(statement).text)
        return cursor

    def write_rows(self) -> None:
        """Write the buffered rows."""
        pending, self._pending_rows = self._pending_rows, {}
        referenced = [key for key in pending if key[0] in REFERENCED_TABLES]
        for table, statement in dict.fromkeys([*referenced, *pending]):  # referenced rows first
            rows = pending[table, statement]
            if plain_insert := _PLAIN_INSERT.fullmatch(translate(statement).text):
                with self.raw.cursor() as cursor, cursor.copy(f"COPY {plain_insert[1]} FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
            elif len(rows) > FEW_ROWS and (insert := _INSERT_UNLESS_PRESENT.fullmatch(translate(statement).text)):
                self._insert_unless_present(insert[1], insert[2], rows)
            else:
                self._execute_each(statement, rows)

    def _insert_unless_present(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert the rows that are missing in a table, by way of a temporary table."""
        self.raw.execute(
            f"CREATE TEMPORARY TABLE IF NOT EXISTS new_{table} ON COMMIT DELETE ROWS AS "
            f"SELECT {columns} FROM {table} WITH NO DATA"
        )
        with self.raw.cursor() as cursor, cursor.copy(f"COPY new_{table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        self.raw.execute(f"INSERT INTO {table} ({columns}) SELECT * FROM new_{table} ON CONFLICT DO NOTHING")
        self.raw.execute(f"DELETE FROM new_{table}")

    def drop_rows(self) -> None:
        """Drop the buffered rows, because their transaction was rolled back."""
        self._pending_rows = {}

    def _write_rows_if_named_in(self, statement: str) -> None:
        """Write the buffered rows if a statement names one of their tables."""
        if self._pending_rows and any(table in statement for table, _ in self._pending_rows):
            self.write_rows()

    def _execute_each(self, statement: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each set of parameters, without buffering."""
        query = translate(statement)
        with self.raw.cursor() as cursor:
            cursor.executemany(query.text, [query.arrange(values) for values in parameters])

    def close(self) -> None:
        """Close the connection."""
        self.raw.close()


class PostgresDatabase:
    """A schema of a PostgreSQL database. Safe for many threads and many processes."""

    def __init__(self, address: Address, directory: Path, *, read_only: bool, busy_timeout_seconds: float) -> None:
        self.address = address
        self.directory = directory
        self.read_only = read_only
        self.on_commit: Callable[[], None] = lambda: None
        self._busy_timeout_seconds = busy_timeout_seconds
        self._connections = ConnectionPool(
            lambda: PostgresConnection(self._connect), lambda connection: not connection.raw.closed
        )
        self._lock_connections = ConnectionPool(lambda: PostgresConnection(self._connect_for_locks), _is_alive)
        """Connections for locks, separate from the thread's connections for reading and writing."""

    is_file = False

    @contextmanager
    def read(self) -> Iterator[PostgresConnection]:
        """Yield a connection whose statements read one snapshot of the store."""
        outer = self._connections.current_connection()
        if outer is not None and outer.in_transaction:
            with self._translate_errors("nothing was changed"):
                yield outer
            return
        with (
            self._translate_errors("nothing was changed"),
            self._connections.connection() as connection,
            self._transaction(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        ):
            yield connection

    @contextmanager
    def session(self) -> Iterator[PostgresConnection]:
        """Yield this thread's connection in autocommit mode."""
        with self._translate_errors("nothing was changed"), self._connections.connection() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[PostgresConnection]:
        """Yield a connection in a write transaction: committed at the block's end, rolled back on any error.

        Raises:
            NotAllowed: The actor is a viewer.
            ReadOnlyStore: The store was opened for reading only.
            StoreUnavailable: Another writer locked the store for too long, or the server cannot be reached.
        """
        with self.write_without_lock() as connection:
            self._lock_for_writing(connection)
            yield connection
            postings.write_pending(connection)
            connection.write_rows()
        self.on_commit()

    @contextmanager
    def write_without_lock(self) -> Iterator[PostgresConnection]:
        """Yield a connection in a write transaction that does not block other writers, for tables without records.

        Raises:
            NotAllowed: The actor is a viewer.
            ReadOnlyStore: The store was opened for reading only.
        """
        if self.read_only:
            raise ReadOnlyStore(f"the store at {self.address} was opened for reading only; open it without read_only")
        check_role(Role.WRITER, "change the store")
        with (
            self._translate_errors("nothing was written"),
            self._connections.connection() as connection,
            self._transaction(connection, "BEGIN"),
        ):
            yield connection

    @contextmanager
    def locked(self, name: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[bool]:
        """Lock a name for the block, against other threads, processes and machines. The lock is reentrant.

        The server releases the lock if the process is killed. The lock is awaited outside of transactions, which would
        block vacuuming.

        Args:
            on_wait: Called once if another process has the lock.

        Yields:
            Whether the caller had to wait.
        """
        key = f"atlas {self.address.schema} {name}"
        with ExitStack() as stack:
            with self._translate_errors("nothing was changed"):
                connection = stack.enter_context(self._lock_connections.connection()).raw
                is_free, pause = _try_lock(connection, key), FIRST_WAIT_SECONDS
                if must_wait := not is_free:
                    on_wait()
                while not is_free:
                    time.sleep(pause)
                    is_free, pause = _try_lock(connection, key), min(2 * pause, MAX_WAIT_SECONDS)
            try:
                yield must_wait
            finally:
                with suppress(psycopg.Error):  # a lost connection has no locks
                    connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (key,))

    @contextmanager
    def schema_transaction(self) -> Iterator[PostgresConnection]:
        """Yield a connection in a transaction that excludes other changes of the schema."""
        with (
            self._translate_errors("nothing was changed"),
            self._connections.connection() as connection,
            self._transaction(connection, "BEGIN"),
        ):
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(?))", (f"atlas {self.address.schema}",))
            yield connection

    @contextmanager
    def separate_connection(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """Yield a separate connection, which is closed at the block's end. Uncommitted changes are rolled back."""
        with self._translate_errors("nothing was written"):
            connection = self._connect()
            try:
                yield connection
            finally:
                connection.close()

    def close(self) -> None:
        """Close idle connections now, and each connection in use when it is released. The next use opens new ones."""
        self._connections.close()
        self._lock_connections.close()

    def rewrite(self) -> None:
        """Rewrite the tables, without deleted rows."""
        with self.session() as connection:
            for (table,) in connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = ?", (self.address.schema,)
            ).fetchall():
                connection.raw.execute(sql.SQL("VACUUM FULL {}").format(sql.Identifier(self.address.schema, table)))

    def truncate_wal(self) -> bool:
        """Return True, because the write-ahead log belongs to the server."""
        return True

    def n_bytes_on_server(self) -> int:
        """Return the size in bytes of the store's tables and indexes on the server's disk."""
        with self.session() as connection:
            row = connection.execute(
                "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
                "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'",
                (self.address.schema,),
            ).fetchone()
        return int(row[0])

    def identity(self) -> str:
        """Return an identifier of the store: numbers of the server, the database and the store's first table.

        A copy of the store has another identifier, but a copy of the server's files does not.
        """
        with self.session() as connection:
            server, database, table = connection.execute(_IDENTITY).fetchone()
        return f"postgresql-{server}-{database}-{table}"

    def check(self) -> str:
        """Return an empty string, because a server with checksums finds damage when it reads a page."""
        return ""

    def _lock_for_writing(self, connection: PostgresConnection) -> None:
        """Lock the row of the revision until the end of the transaction, which excludes other writers."""
        connection.execute(f"SET LOCAL lock_timeout = {int(self._busy_timeout_seconds * 1000)}")
        connection.execute("SELECT value FROM meta WHERE name = 'revision' FOR UPDATE")

    @contextmanager
    def _transaction(self, connection: PostgresConnection, begin: str) -> Iterator[None]:
        """Run the block in a transaction that the statement `begin` opens, and roll back on any error."""
        connection.execute(begin)
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            postings.drop_pending(connection)
            connection.drop_rows()
            if not connection.raw.closed and connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        connection = psycopg.connect(
            self.address.conninfo, autocommit=True, connect_timeout=10, application_name="atlas"
        )
        register(connection)
        # A cached plan from a time when a table was small would scan the whole table when it is large.
        connection.execute("SET plan_cache_mode = force_custom_plan")
        connection.execute("SET jit = off")
        connection.execute(sql.SQL("SET search_path TO {}, public").format(sql.Identifier(self.address.schema)))
        return connection

    def _connect_for_locks(self) -> psycopg.Connection[tuple[Any, ...]]:
        connection = self._connect()
        connection.execute(_KEEPALIVE_SQL)
        return connection

    @contextmanager
    def _translate_errors(self, outcome: str) -> Iterator[None]:
        """Convert errors of psycopg in the block to errors of ATLAS. See `_to_store_error` for the outcome."""
        try:
            yield
        except UnreadableRow as error:
            raise damage_error(None, str(error)) from error
        except psycopg.Error as error:
            raise self._to_store_error(error, outcome) from error
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"{error.object[:40]!r} contains a lone surrogate, which is not valid text; remove it"
            ) from error

    def _to_store_error(self, error: psycopg.Error, outcome: str) -> Exception:
        """Return the error to raise for an error of psycopg. The outcome says what was done to the store."""
        if isinstance(error, errors.LockNotAvailable):
            return StoreUnavailable(
                f"another process kept {self.address} locked for over {self._busy_timeout_seconds:g} s; {outcome}. "
                "Try again, or look for a stuck process"
            )
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreUnavailable(
                f"the user of {self.address} may not do that ({_first_line(error)}); {outcome}. Grant it usage of the "
                "schema and all rights on its tables, or give another user"
            )
        if isinstance(error, errors.DiskFull | errors.OutOfMemory):
            return StoreUnavailable(
                f"the server of {self.address} has no room left ({_first_line(error)}); {outcome}. Free some space"
            )
        if isinstance(error, psycopg.OperationalError):
            return StoreUnavailable(
                f"the server of {self.address} cannot be reached, or the connection was lost ({_first_line(error)}). A "
                "write that was under way may or may not have been done: look before you try again"
            )
        return error


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _is_alive(connection: PostgresConnection) -> bool:
    """Return whether an idle connection is still alive."""
    try:
        connection.raw.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def _try_lock(connection: psycopg.Connection[tuple[Any, ...]], key: str) -> bool:
    """Acquire an advisory lock if it is free, and return whether it was."""
    row = connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (key,)).fetchone()
    return bool(row and row[0])
