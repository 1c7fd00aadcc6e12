"""The ledger in one schema of a PostgreSQL database."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from atlas.core.address import Address
from atlas.protocols.infra import Clock
from atlas.storage.postgres.copies import PostgresCopies
from atlas.storage.postgres.database import PostgresDatabase
from atlas.storage.postgres.foreign import foreign_objects
from atlas.storage.postgres.hnsw import HnswIndex
from atlas.storage.postgres.schema import prepare_schema
from atlas.storage.postgres.shared import PostgresShared
from atlas.storage.sql.ledger import SqlLedger


def open_postgres(
    address: Address,
    directory: Path,
    *,
    clock: Clock,
    read_only: bool = False,
    create: bool = True,
    busy_timeout_seconds: float = 60.0,
) -> SqlLedger:
    """Open the ledger at an address.

    Args:
        directory: Directory of the store's files on this machine.
        create: Whether to create a missing store.
    """
    database = PostgresDatabase(address, directory, read_only=read_only, busy_timeout_seconds=busy_timeout_seconds)
    try:
        prepare_schema(database, create=create)
    except BaseException:
        database.close()
        raise
    return SqlLedger(
        database,
        PostgresCopies(database, clock),
        partial(HnswIndex, database),
        clock=clock,
        find_foreign=foreign_objects,
        shared=PostgresShared(database),
    )
