"""Location of a store's access rights: its directory, or its database schema."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from atlas.core.address import Address
from atlas.core.errors import StoreUnavailable
from atlas.core.imports.distribution import extra
from atlas.infra.access_files import AccessDirectory
from atlas.protocols.access import AccessStorage
from atlas.storage.location.label import find_address


def access_storage(directory: Path) -> AccessStorage:
    """Return the storage of a store's access rights: its directory, or tables of its database.

    Raises:
        StoreUnavailable: The store is in PostgreSQL, and its driver is not installed.
    """
    address = find_address(directory)
    return AccessDirectory(directory) if address is None else _open_tables(address, directory)


@cache
def _open_tables(address: Address, directory: Path) -> AccessStorage:
    with extra("postgres", "a store in PostgreSQL", StoreUnavailable):
        from atlas.storage.postgres.access import AccessTables
    return AccessTables(address, directory)
