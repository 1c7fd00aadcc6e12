"""State that the servers of a store share, besides the records: results of jobs, and locks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from atlas.core.errors import PlanOutdated
from atlas.storage.engine import Publication
from atlas.storage.postgres.database import PostgresDatabase
from atlas.storage.sql.meta import read_ledger_id

_PUBLISH = """
    INSERT INTO artefacts AS stored (name, version, job, content)
    VALUES (%s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000, %s, %s)
    ON CONFLICT (name) DO UPDATE SET
        version = greatest(stored.version + 1000, excluded.version), job = excluded.job, content = excluded.content
    RETURNING version
"""
"""The server's clock numbers versions, in nanoseconds. So versions stay unique after a purge has deleted the row."""


class PostgresShared:
    """Published results of jobs on a store, as rows, and locks across machines."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def locked(self, name: str, on_wait: Callable[[], None] = lambda: None) -> AbstractContextManager[bool]:
        """Return a context manager that locks a name on all machines, and yields whether the caller had to wait."""
        return self._database.locked(name, on_wait)

    def ledger_id(self) -> str:
        """Return the current id of the ledger."""
        with self._database.read() as connection:
            return read_ledger_id(connection)

    def publication(self, name: str) -> Publication | None:
        """Return the published result without its content, or None if there is none."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT version, job, octet_length(content) > 0 FROM artefacts WHERE name = ?", (name,)
            ).fetchone()
        return Publication(version=row[0], job=row[1], is_whole=row[2]) if row else None

    def content(self, name: str, version: int) -> bytes | None:
        """Return the content of a result, or None if this version was replaced or deleted."""
        with self._database.read() as connection:
            row = connection.raw.execute(
                "SELECT content FROM artefacts WHERE name = %s AND version = %s", (name, version), binary=True
            ).fetchone()
        return bytes(row[0]) if row else None

    def publish(self, name: str, content: bytes, *, job: str, ledger_id: str) -> int:
        """Replace the published result, and return its version.

        Args:
            content: Empty if the result is too large to store, so that only the server that made it has a copy.
            job: Id of the job that made the result.
            ledger_id: Id of the ledger from which the result was computed, empty if unknown.

        Raises:
            PlanOutdated: The store was restored, re-embedded or purged during the computation.
        """
        with self._database.write_without_lock() as connection:
            # Serialises with a purge, which renews the id before it deletes the results.
            row = connection.raw.execute("SELECT value FROM meta WHERE name = 'ledger_id' FOR SHARE").fetchone()
            if ledger_id and row and row[0] != ledger_id:
                raise PlanOutdated(
                    "the store was restored, re-embedded or purged during the computation, so the result was "
                    "discarded; run it again"
                )
            row = connection.raw.execute(_PUBLISH, (name, job, content)).fetchone()
            assert row is not None
            return int(row[0])
