"""pgvector's HNSW index over a collection's vectors, in half precision, which follows the ledger.

The index and its checkpoint are updated in one transaction, separate from the writes of the ledger. So the checkpoint
always matches the content, no write waits for the index, and many changes are indexed at once, which is faster.

Every reader sees its own snapshot. Rows are deleted, not truncated, because TRUNCATE is not MVCC-safe.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import psycopg
from psycopg import errors, sql

from atlas.core.types import Vector, Vectors
from atlas.storage.following_index import IndexCheckpoint, IndexUnusable, LocalIndex, parse_checkpoint
from atlas.storage.postgres.database import PostgresConnection, PostgresDatabase
from atlas.storage.records import Seqs
from atlas.storage.sql.connection import IntegerArray
from atlas.storage.sql.records import join_vectors
from atlas.storage.vectors.in_memory import dot_products

logger = logging.getLogger(__name__)
MIN_SCANNED, MAX_SCANNED = 800, 1_000
"""Smallest and largest number of candidates of a query (`hnsw.ef_search`). More candidates miss fewer neighbours."""

MANY_CHANGES = 20_000
"""Number of changes from which a rebuild is considered, because a single insert takes three times as long."""

MAX_EXACT = 20_000
"""Number of records up to which a filtered query is exact, without the index."""

MAX_BUILD_BYTES = 2 << 30
"""Maximum memory for building an index. With less, building takes several times as long."""

DROPPING_MILLISECONDS = 500

_NEIGHBOUR_BYTES = 300
"""Approximate bytes of a vector's neighbours in the index."""


class HnswIndex(LocalIndex):
    """The vectors of one collection, with an HNSW index."""

    is_counted = False
    is_open = False

    def __init__(self, database: PostgresDatabase, collection: str, dimension: int) -> None:
        self._database = database
        self._collection = collection
        self._type = f"halfvec({dimension})"
        self._dimension = dimension
        self._name = f"index_vectors_{hashlib.blake2b(collection.encode(), digest_size=8).hexdigest()}"
        self._thread_lock = threading.RLock()
        self._write_connection: psycopg.Connection[Any] | None = None

    @contextmanager
    def locked(self, timeout_seconds: float = -1, *, to_write: bool = True) -> Iterator[bool]:
        """Lock the index for writing. Yields False after a timeout.

        Changes after the last checkpoint are rolled back at the end. Readers need no lock.
        """
        if not to_write:
            yield True
            return
        if not self._thread_lock.acquire(timeout=timeout_seconds):
            yield False
            return
        try:
            if self._write_connection is not None:
                yield True
                return
            with self._translate_errors(), self._database.separate_connection() as connection:
                connection.autocommit = False
                if not self._lock(connection, timeout_seconds):
                    yield False
                    return
                self._write_connection = connection
                try:
                    yield True
                finally:
                    self._write_connection = None
        finally:
            self._thread_lock.release()

    def checkpoint(self) -> IndexCheckpoint:
        """Return the checkpoint of the last writer, or an empty checkpoint if a write is unfinished."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT seal FROM index_seals WHERE collection = ?", (self._collection,)
            ).fetchone()
        return parse_checkpoint(row[0]) if row else IndexCheckpoint()

    def begin(self, checkpoint: IndexCheckpoint, n_changes: int = 0) -> None:
        """Begin to write the changes after a checkpoint. After many changes, the index is rebuilt at the end."""
        if self.checkpoint() != checkpoint:
            raise IndexUnusable("another process has written the index since its checkpoint was read")
        if n_changes > MANY_CHANGES and n_changes > self.count() // 4:
            with self._transaction() as connection:
                self._drop_index(connection)

    def set_checkpoint(
        self, ledger_id: str, revision: int, *, change: int = 0, change_name: str = "", n_keys: int | None = None
    ) -> None:
        """Commit the writes, together with a checkpoint for the ledger position that they reach."""
        checkpoint = IndexCheckpoint(ledger_id=ledger_id, revision=revision, change=change, change_name=change_name)
        with self._transaction() as connection:
            self._build_index(connection)
            connection.execute(
                "INSERT INTO index_seals VALUES (%s, %s) ON CONFLICT (collection) DO UPDATE SET seal = EXCLUDED.seal",
                (self._collection, json.dumps(asdict(checkpoint))),
            )
            connection.commit()

    def upsert(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Insert or replace vectors by key."""
        seqs, windows = _parse_keys(keys)
        if not len(seqs):
            return
        with self._transaction() as connection, connection.cursor() as cursor:
            self._delete_rows(connection, seqs, windows)
            with cursor.copy("COPY index_vectors FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(_encode_rows(seqs, windows, self._collection, vectors))

    def remove(self, keys: Sequence[str]) -> None:
        """Remove vectors by key, ignoring unknown keys."""
        seqs, windows = _parse_keys(keys)
        with self._transaction() as connection:
            self._delete_rows(connection, seqs, windows)

    def query(self, vector: Vector, k: int, *, checkpoint: IndexCheckpoint | None = None) -> list[tuple[str, float]]:
        """Return at most k keys with their similarities, highest first. Approximate: one in a hundred may be missing.

        Args:
            checkpoint: The expected checkpoint, or None to skip the check.

        Raises:
            IndexUnusable: The current checkpoint differs.
        """
        if k <= 0:
            return []
        with self._translate_errors(), self._database.read() as connection:
            if checkpoint is not None and self.checkpoint() != checkpoint:
                raise IndexUnusable("another process has written the index since its checkpoint was read")
            return self._find_nearest(connection, vector, k)

    def query_subset(self, vector: Vector, k: int, seqs: Seqs) -> list[tuple[str, float]]:
        """Return at most k keys of these records with their similarities, highest first.

        A small set of records is compared exactly. For a large set, the index is scanned until there are enough hits.
        """
        with self._translate_errors(), self._database.read() as connection:
            return self._find_nearest(connection, vector, k, IntegerArray(seqs.tolist()))

    def count(self) -> int:
        """Return the number of keys."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT count(*) FROM index_vectors WHERE collection = ?", (self._collection,)
            ).fetchone()
        return int(row[0])

    def clear(self) -> bool:
        """Delete all vectors and the checkpoint, and return True. A failure raises an error instead."""
        with self.locked(), self._transaction() as connection:
            connection.rollback()
            self._drop_index(connection)
            connection.execute("DELETE FROM index_vectors WHERE collection = %s", (self._collection,))
            connection.execute("DELETE FROM index_seals WHERE collection = %s", (self._collection,))
            connection.commit()
        return True

    def close(self) -> None:
        """Do nothing, because the index has no open files."""

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """Yield the connection of the writer's transaction, which `set_checkpoint` commits."""
        with self.locked() as is_locked:
            assert is_locked  # without a timeout, it waits for the lock
            assert self._write_connection is not None
            yield self._write_connection

    def _delete_rows(self, connection: psycopg.Connection[Any], seqs: Seqs, windows: Seqs) -> None:
        connection.execute(
            'DELETE FROM index_vectors v USING unnest(%s, %s) AS gone (seq, "window") '
            'WHERE v.seq = gone.seq AND v."window" = gone."window"',
            (IntegerArray(seqs.tolist()), IntegerArray(windows.tolist())),
        )

    def _lock(self, connection: psycopg.Connection[Any], timeout_seconds: float) -> bool:
        """Lock the index for the rest of a connection, and return False after the timeout."""
        milliseconds = 0 if timeout_seconds < 0 else max(1, int(timeout_seconds * 1000))  # 0 waits forever
        connection.execute(f"SET lock_timeout = {milliseconds}")
        try:
            name = f"atlas {self._database.address.schema} {self._name}"
            connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (name,))
        except errors.LockNotAvailable:
            return False
        connection.execute("SET lock_timeout = 0")
        connection.commit()
        return True

    def _drop_index(self, connection: psycopg.Connection[Any]) -> None:
        """Drop the HNSW index before a large write, unless a reader locks it. Rebuilding is faster."""
        connection.execute(f"SET LOCAL lock_timeout = {DROPPING_MILLISECONDS}")  # other requests wait for this one
        try:
            with connection.transaction():
                connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(self._name)))
        except errors.LockNotAvailable:
            logger.info("the index of %s is in use, so it is not dropped", self._collection)
        connection.execute("SET LOCAL lock_timeout = 0")

    def _build_index(self, connection: psycopg.Connection[Any]) -> None:
        """Create the HNSW index if it is missing, in parallel if the server has enough shared memory."""
        (n_indexes, n_vectors) = _fetch_row(
            connection.execute(
                "SELECT (SELECT count(*) FROM pg_indexes WHERE schemaname = %s AND indexname = %s), "
                "(SELECT count(*) FROM index_vectors WHERE collection = %s)",
                (self._database.address.schema, self._name, self._collection),
            )
        )
        if n_indexes:
            return
        n_bytes = min(MAX_BUILD_BYTES, max(64 << 20, int(1.2 * n_vectors * (2 * self._dimension + _NEIGHBOUR_BYTES))))
        connection.execute(f"SET LOCAL maintenance_work_mem = '{n_bytes >> 10}kB'")
        template = sql.SQL(
            "CREATE INDEX {} ON index_vectors USING hnsw ((vector::{}) halfvec_ip_ops) WHERE collection = {}"
        )
        statement = template.format(sql.Identifier(self._name), sql.SQL(self._type), sql.Literal(self._collection))
        try:
            with connection.transaction():
                connection.execute(statement)
        except (errors.DiskFull, errors.OutOfMemory) as error:  # containers have little shared memory
            logger.info("building the index of %s with one process: %s", self._collection, error)
            connection.execute("SET LOCAL max_parallel_maintenance_workers = 0")
            connection.execute(statement)

    def _find_nearest(
        self, connection: PostgresConnection, vector: Vector, k: int, seqs: IntegerArray | None = None
    ) -> list[tuple[str, float]]:
        """Return the k nearest keys of the index, with exact similarities from the vectors in the ledger."""
        connection.raw.execute(f"SET LOCAL hnsw.ef_search = {min(MAX_SCANNED, max(MIN_SCANNED, 2 * k))}")
        connection.raw.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
        text = f"[{','.join(map(str, vector.tolist()))}]"
        rows = connection.raw.execute(
            self._query_statement(seqs),
            {"vector": text, "k": k, "seqs": seqs},
            binary=True,
        ).fetchall()
        keys = [f"{seq}:{window}" for seq, window, encoded in rows if encoded is not None]
        hits = [(f"{seq}:{window}", -1.0) for seq, window, encoded in rows if encoded is None]  # deleted since
        if keys:
            vectors = join_vectors([encoded for *_, encoded in rows if encoded is not None])
            hits += zip(keys, dot_products(vectors, vector).tolist(), strict=True)
        return sorted(hits, key=lambda hit: -hit[1])

    def _query_statement(self, seqs: IntegerArray | None) -> sql.Composed:
        """Return the query for the nearest windows, of all records or of those in `seqs`, with their exact vectors."""
        condition = sql.SQL("collection = {}").format(sql.Literal(self._collection))
        table = sql.SQL("index_vectors")
        if seqs is not None and len(seqs) <= MAX_EXACT:
            # `OFFSET 0` prevents the use of the index, so every record of the set is compared.
            table = sql.SQL("(SELECT * FROM index_vectors WHERE seq = ANY(%(seqs)s) OFFSET 0) AS few")
        elif seqs is not None:
            condition += sql.SQL(" AND seq = ANY(%(seqs)s)")
        return sql.SQL(
            'SELECT near.seq, near."window", v.vector FROM (SELECT seq, "window" FROM {} WHERE {} '
            "ORDER BY vector::{} <#> %(vector)s::{} LIMIT %(k)s) AS near "
            'LEFT JOIN vectors v ON v.seq = near.seq AND v."window" = near."window"'
        ).format(table, condition, sql.SQL(self._type), sql.SQL(self._type))

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise `IndexUnusable` if the server fails to use the index. Queries then do without the index."""
        try:
            yield
        except (errors.DataException, errors.UndefinedObject, errors.UndefinedTable, errors.DiskFull) as error:
            raise IndexUnusable(str(error)) from error


def _fetch_row(cursor: psycopg.Cursor[Any]) -> tuple[Any, ...]:
    row = cursor.fetchone()
    assert row is not None
    return tuple(row)


def _parse_keys(keys: Sequence[str]) -> tuple[Seqs, Seqs]:
    """Return the record numbers and window numbers in keys of the form `record:window`."""
    pairs = np.array([key.split(":") for key in keys], np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _encode_rows(seqs: Seqs, windows: Seqs, collection: str, vectors: Vectors) -> bytes:
    """Return rows in the binary format of COPY: each field after its length, in network order."""
    name, dimension = collection.encode(), vectors.shape[1]
    fields = [("n", ">i2"), ("len_seq", ">i4"), ("seq", ">i8"), ("len_window", ">i4"), ("window", ">i8")]
    fields += [("len_name", ">i4"), ("name", f"S{len(name)}"), ("len_vector", ">i4"), ("dim", ">i2"), ("zero", ">i2")]
    rows = np.zeros(len(seqs), np.dtype([*fields, ("vector", ">f2", (dimension,))]))
    rows["n"] = 4
    rows["len_seq"] = 8
    rows["len_window"] = 8
    rows["len_name"] = len(name)
    rows["len_vector"], rows["dim"] = 4 + 2 * dimension, dimension
    rows["seq"] = seqs
    rows["window"] = windows
    rows["name"] = name
    rows["vector"] = vectors
    return b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff"
