"""Copies of a ledger in PostgreSQL."""

from __future__ import annotations

from atlas.protocols.infra import Clock
from atlas.storage.postgres.database import PostgresDatabase


class PostgresCopies:
    """The copies that are made of a ledger, and of which it is made."""

    def __init__(self, database: PostgresDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock
