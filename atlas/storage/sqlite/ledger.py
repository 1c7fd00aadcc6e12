"""The ledger in one SQLite file in the store's directory."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from atlas.core.errors import ReadOnlyStore
from atlas.infra.permissions import create_private, file_mode
from atlas.protocols.infra import Clock
from atlas.storage.sql.ledger import SqlLedger
from atlas.storage.sqlite.copies import SqliteCopies
from atlas.storage.sqlite.database import SqliteDatabase
from atlas.storage.sqlite.reference import foreign_objects
from atlas.storage.sqlite.schema import prepare_schema
from atlas.storage.vectors.chroma import ChromaIndex

INDEX = "chroma"
"""The directory of indexes."""


def open_sqlite(path: Path, *, clock: Clock, read_only: bool = False, busy_timeout_seconds: float = 60.0) -> SqlLedger:
    """Open the ledger in a file, creating the file unless `read_only`."""
    if read_only and not path.exists():
        raise ReadOnlyStore(f"there is no ledger at {path}, and opening it read-only creates none; run: atlas init")
    if not read_only and not path.exists():  # SQLite's journals get the mode of the file
        with suppress(OSError):  # SQLite raises an error for missing permissions
            create_private(path, mode=file_mode(path.parent))
    database = SqliteDatabase(path, read_only=read_only, busy_timeout_seconds=busy_timeout_seconds)
    try:
        prepare_schema(database)
    except BaseException:
        database.close()
        raise

    def index(collection: str, _dimension: int) -> ChromaIndex:
        return ChromaIndex(path.parent / INDEX, collection)  # ChromaDB detects the dimension

    return SqlLedger(database, SqliteCopies(database, clock), index, clock=clock, find_foreign=foreign_objects)
