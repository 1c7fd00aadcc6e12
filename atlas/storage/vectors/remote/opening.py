"""The indexes of a store in the service of its settings, and in former services."""

from __future__ import annotations

from collections.abc import Iterable

from atlas.core.errors import NotFound
from atlas.core.imports.plugins import INDEXES, find_plugin
from atlas.core.index_address import IndexAddress, PluginIndexAddress, Service, read_index_address
from atlas.storage.engine import LedgerEngine
from atlas.storage.vectors.remote.circuit_breaker import CircuitBreaker
from atlas.storage.vectors.remote.index import RemoteIndex
from atlas.storage.vectors.remote.notes import IndexNotes, list_index_addresses
from atlas.storage.vectors.remote.service import VectorService

READ_SECONDS = 60.0
"""Read timeout of a connection. The timeout of a whole response is shorter."""


class RemoteIndexes:
    """The indexes of a store in one service, with a shared connection and pause after a failure."""

    def __init__(self, address: str, *, seconds: float) -> None:
        """Parse the address. Nothing is connected yet.

        Args:
            seconds: Timeout of a query.

        Raises:
            InvalidInput: The address is malformed.
        """
        index_address = read_index_address(address)
        self.location = str(index_address)
        self._service = _make_service(index_address, seconds=max(seconds, READ_SECONDS))
        self._circuit_breaker = CircuitBreaker(self.location)
        self._query_seconds = seconds

    @property
    def fault(self) -> str:
        """The reason why the last request to the service failed, or empty if it succeeded or no request was sent."""
        return self._circuit_breaker.fault

    def index(self, ledger: LedgerEngine, collection: str, dimension: int) -> RemoteIndex:
        """Return the index of a collection."""
        notes = IndexNotes(ledger, collection, self.location)
        return RemoteIndex(
            self._service, self._circuit_breaker, notes, collection, dimension, seconds=self._query_seconds
        )

    def close(self) -> None:
        """Close the connections."""
        self._service.close()


def _make_service(address: IndexAddress | PluginIndexAddress, *, seconds: float) -> VectorService:
    """Return the service at an address. Modules of other services are not imported."""
    if isinstance(address, IndexAddress):
        if address.service is Service.PINECONE:
            from atlas.storage.vectors.remote.pinecone import PineconeService

            return PineconeService(address, seconds=seconds)
        from atlas.storage.vectors.remote.chroma import ChromaService

        return ChromaService(address, seconds=seconds)
    plugin = find_plugin(INDEXES, address.scheme)
    if plugin is None:
        raise NotFound(f"no plug-in provides {address.scheme}://; install one, or set ATLAS_INDEX to another address")
    return plugin.make(VectorService, str(address), seconds=seconds)  # type: ignore[type-abstract]


def list_kept_namespaces(ledger: LedgerEngine, collections: Iterable[str]) -> list[str]:
    """Return the namespaces of collections that are kept in services, each as `NAMESPACE at ADDRESS`."""
    indexes = [
        (collection, address) for collection in collections for address in list_index_addresses(ledger, collection)
    ]
    return [
        f"{namespace} at {address}"
        for collection, address in indexes
        for namespace in IndexNotes(ledger, collection, address).read().kept_namespaces
    ]


def abandon(ledger: LedgerEngine, address: str) -> list[str]:
    """Stop using a service, keep a ledger's vectors there, and return the names of their namespaces.

    Raises:
        NotFound: The service never had an index of the ledger.
    """
    indexes = [
        IndexNotes(ledger, name, address)
        for name in ledger.collections()
        if address in list_index_addresses(ledger, name)
    ]
    if not indexes:
        raise NotFound(
            f"this store never had an index at {address}; see the addresses of its indexes with: atlas doctor"
        )
    return [namespace for notes in indexes for namespace in notes.abandon_namespaces().kept_namespaces]


def clear_everywhere(ledger: LedgerEngine, collection: str, *, seconds: float) -> list[str]:
    """Remove a collection's indexes in every service. Return the services that still have one, with the reason."""
    remaining = []
    for address in list_index_addresses(ledger, collection):
        indexes = RemoteIndexes(address, seconds=seconds)
        if not indexes.index(ledger, collection, 0).clear():
            remaining.append(f"{address} ({indexes.fault or 'another process is writing it'})")
        indexes.close()
    return remaining
