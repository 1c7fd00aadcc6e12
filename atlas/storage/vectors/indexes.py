"""The indexes of a store, either local or in the configured service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from atlas.core.errors import InvalidInput, StoreUnavailable
from atlas.core.imports.distribution import missing_package
from atlas.core.imports.lazy import LazyModule
from atlas.core.index_address import read_index_address
from atlas.core.settings import Settings
from atlas.infra.actor import Role, check_role
from atlas.storage.engine import LedgerEngine
from atlas.storage.following_index import FollowingIndex
from atlas.storage.vectors.updater import OUTAGE_MESSAGE

if TYPE_CHECKING:
    from atlas.storage.vectors.remote import opening
else:
    opening = LazyModule("atlas.storage.vectors.remote.opening")  # most stores have no index in a service


class StoreIndexes:
    """The indexes of all collections of a store."""

    def __init__(self, ledger: LedgerEngine, settings: Settings) -> None:
        self._ledger = ledger
        self._is_opened_read_only = ledger.read_only
        self._timeout_seconds = settings.index_timeout_seconds
        self._remote = opening.RemoteIndexes(settings.index, seconds=self._timeout_seconds) if settings.index else None

    @property
    def location(self) -> str:
        """The address of the service with the indexes, or empty if they are local."""
        return self._remote.location if self._remote else ""

    @property
    def fault(self) -> str:
        """The reason why the last request to the service failed, or empty if it succeeded or no request was sent."""
        return self._remote.fault if self._remote else ""

    @property
    def problem(self) -> str:
        """The fault as a sentence for users, without the name of the host, or empty."""
        return OUTAGE_MESSAGE if self.fault else ""

    def index_of(self, collection: str, dimension: int) -> FollowingIndex | None:
        """Return the index of a collection, or None if no index can be used."""
        if self._remote is not None:
            return self._remote.index(self._ledger, collection, dimension)
        if self._ledger.is_file and self._is_opened_read_only:  # ChromaDB writes files even to read
            return None
        if self._ledger.is_file and missing_package("chroma", "the index"):  # which `atlas status` reports
            return None
        return self._ledger.index(collection, dimension)

    def unpurged_remote_indexes(self, collections: Iterable[str]) -> list[str]:
        """Return the names of remote indexes that a purge of these collections does not remove.

        Such an index belongs to the original of a copied store, or to a service that the store no longer uses.
        """
        return opening.list_kept_namespaces(self._ledger, collections)

    def abandon(self, address: str) -> list[str]:
        """Stop using a service, keep this store's vectors there, and return the names of their namespaces.

        Raises:
            NotAllowed: The actor is not a curator.
            InvalidInput: The address is malformed, or belongs to the service in use.
            NotFound: The service never had an index of this store.
        """
        check_role(Role.CURATOR, "leave an index in its service")
        parsed_address = str(read_index_address(address))
        if parsed_address == self.location:
            raise InvalidInput(
                f"{parsed_address} is the service in use; set ATLAS_INDEX to another one, or unset it, and try again"
            )
        return opening.abandon(self._ledger, parsed_address)

    def drop(self, collection: str, dimension: int, index: FollowingIndex | None) -> None:
        """Delete all indexes of a collection, current and former.

        Args:
            index: The index that queries use, or None before the first query.

        Raises:
            StoreUnavailable: Vectors remain in a service, for example because it does not answer.
        """
        if remaining := opening.clear_everywhere(self._ledger, collection, seconds=self._timeout_seconds):
            raise StoreUnavailable(
                f"the index of {collection} cannot be removed from {'; '.join(remaining)}; try again once they answer"
            )
        local_index = index if index is not None and self._remote is None else self._ledger.index(collection, dimension)
        if not local_index.clear():
            raise StoreUnavailable(
                f"the index of {collection} cannot be removed by a forked process; remove it in the process that "
                "opened the store"
            )
