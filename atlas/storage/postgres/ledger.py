"""The ledger in one schema of a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from atlas.protocols.infra import Clock
from atlas.storage.postgres.address import Address
from atlas.storage.postgres.copies import PostgresCopies
from atlas.storage.postgres.database import PostgresDatabase
from atlas.storage.postgres.schema import prepare_schema
from atlas.storage.sql.ledger import SqlLedger


def open_postgres(
    address: Address, directory: Path, *, clock: Clock, read_only: bool = False, busy_timeout_seconds: float = 60.0
) -> SqlLedger:
    """Open the ledger at an address, which is made unless it is opened for reading only."""
    database = PostgresDatabase(address, directory, read_only=read_only, busy_timeout_seconds=busy_timeout_seconds)
    try:
        prepare_schema(database)
    except BaseException:
        database.close()
        raise
    return SqlLedger(database, PostgresCopies(database, clock), clock=clock)
