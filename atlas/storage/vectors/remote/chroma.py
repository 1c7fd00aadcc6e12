"""A ChromaDB server, or Chroma Cloud, with collections as namespaces. Writes are visible immediately.

A server of ChromaDB 1.x has no authentication. So run it on this machine, or behind an authenticating proxy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from atlas.core.imports.distribution import extra
from atlas.core.index_address import IndexAddress, Service
from atlas.core.types import Vector, Vectors
from atlas.storage.following_index import IndexUnreachable, IndexUnusable
from atlas.storage.vectors.remote.lazy_client import LazyClient
from atlas.storage.vectors.remote.service import ALWAYS_VISIBLE, MIN_SERVER_ERROR, Answer, NoAnswer
from atlas.storage.vectors.remote.wording import error_text

if TYPE_CHECKING:
    import httpx
    from chromadb.api import ClientAPI
    from chromadb.config import Settings

T = TypeVar("T")

KEY = "CHROMA_API_KEY"
CONFIGURATION: Any = {"hnsw": {"space": "cosine"}}
"""The other settings are the server's defaults."""

MAX_BYTES = 8_000_000
"""Maximum size of the vectors in one write. A server accepts bodies up to 40 MB, with vectors as text."""

_BYTES_PER_NUMBER = 6
"""Size of a number in a request: the four bytes of a float in base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Maximum numbers of items in one request to the server."""

    records: int
    hits: int


REACHABLE_SECONDS = 5.0
"""Timeout of a server's first response."""

CLOUD_HOST = "api.trychroma.com"
"""Default host of Chroma Cloud."""

SERVER = Limits(records=1_000, hits=10_000)
CLOUD = Limits(records=300, hits=300)
"""Limits of a server, and the default quotas of Chroma Cloud."""


@dataclass(slots=True)
class Client:
    """A ChromaDB client with a cache of its collections."""

    api: ClientAPI
    collections: dict[str, Any] = field(default_factory=dict)

    def collection(self, name: str) -> Any:
        """Return a collection, from the cache if possible."""
        if name not in self.collections:
            self.collections[name] = self.api.get_collection(name, embedding_function=None)
        return self.collections[name]


class ChromaService:
    """One database of a ChromaDB server."""

    sees_at_once = True

    def __init__(self, address: IndexAddress, *, seconds: float) -> None:
        """Use the server at an address.

        Args:
            seconds: Read timeout.
        """
        self._address = address
        self._seconds = seconds
        self._is_cloud = address.service is Service.CHROMA_CLOUD
        self._limits = CLOUD if self._is_cloud else SERVER
        self._lazy_client: LazyClient[Client] = LazyClient(self._connect, _close_client)

    @property
    def max_hits(self) -> int:
        """Maximum number of hits of a query."""
        return self._limits.hits

    def max_written(self, dimension: int) -> int:
        """Return the maximum number of vectors of this dimension in one write."""
        return max(1, min(self._limits.records, MAX_BYTES // (_BYTES_PER_NUMBER * dimension)))

    @property
    def max_removed(self) -> int:
        """Maximum number of keys in one removal."""
        return self._limits.records

    @property
    def is_open(self) -> bool:
        """True while there are connections."""
        return self._lazy_client.is_open

    def make(self, namespace: str, dimension: int) -> None:
        """Create a collection. ChromaDB detects the dimension."""
        self._call(
            lambda client: client.api.get_or_create_collection(
                namespace, configuration=CONFIGURATION, embedding_function=None
            )
        )

    def upsert(self, namespace: str, keys: Sequence[str], vectors: Vectors) -> int:
        """Store the vectors under the keys, and return 0, because the vectors are visible immediately."""
        self._call_collection(namespace, lambda collection: collection.upsert(ids=list(keys), embeddings=vectors))
        return 0

    def remove(self, namespace: str, keys: Sequence[str]) -> None:
        """Remove vectors by key, ignoring unknown keys."""
        self._call_collection(namespace, lambda collection: collection.delete(ids=list(keys)))

    def query(self, namespace: str, vector: Vector, k: int) -> Answer:
        """Return the keys of at most k nearest vectors. Approximate."""
        hits = self._call_collection(namespace, partial(_query_collection, vector=vector, k=k))
        return Answer(hits=hits, sees_up_to=ALWAYS_VISIBLE)

    def count(self, namespace: str) -> int:
        """Return the number of keys in a collection, or 0 if the collection does not exist."""
        try:
            return self._call_collection(namespace, lambda collection: int(collection.count()))
        except IndexUnreachable:
            raise
        except IndexUnusable:
            return 0

    def drop(self, namespace: str) -> None:
        """Delete a collection, if it exists."""
        try:
            self._call(lambda client: client.api.delete_collection(namespace))
        except IndexUnreachable:
            raise
        except IndexUnusable:
            return

    def close(self) -> None:
        """Close the connections."""
        self._lazy_client.close()

    def _call_collection(self, namespace: str, call: Callable[[Any], T]) -> T:
        """Call a function with the collection of a namespace, and return its result. See `_call`."""
        return self._call(lambda client: call(client.collection(namespace)))

    def _call(self, call: Callable[[Client], T]) -> T:
        """Call ChromaDB, and convert its errors to index errors, whose messages contain no key."""
        with extra("chroma", "an index in ChromaDB", IndexUnreachable):
            from chromadb.errors import ChromaError, NotFoundError

        client = self._get_client()
        try:
            return call(client)
        except NotFoundError as error:
            raise IndexUnusable(error_text(error, KEY)) from None
        except Exception as error:  # noqa: BLE001 - its client also raises plain Exceptions, and errors of httpx and orjson
            is_refused = isinstance(error, ChromaError) and error.code() < MIN_SERVER_ERROR
            raise (IndexUnreachable if is_refused else NoAnswer)(error_text(error, KEY)) from None

    def _get_client(self) -> Client:
        """Return the client, connecting if necessary, and convert errors as `_call` does."""
        try:
            return self._lazy_client.get()
        except IndexUnreachable:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            raise IndexUnreachable(error_text(error, KEY)) from None

    def _connect(self) -> Client:
        with extra("chroma", "an index in ChromaDB", IndexUnreachable):
            from chromadb.config import Settings

        self._check_reachable()  # a new client sends a request immediately, and would wait forever
        settings = Settings(anonymized_telemetry=False)
        api = self._connect_to_cloud(settings) if self._is_cloud else self._connect_to_server(settings)
        session, admin_session = _http_clients(api)
        session.timeout = self._seconds  # there is no option for it, and a call could wait forever
        admin_session.close()  # it was needed to look up the database
        return Client(api)

    def _check_reachable(self) -> None:
        """Send a trivial request, and raise an error of httpx if there is no answer within a timeout."""
        import httpx  # comes with ChromaDB

        address = self._address
        scheme = "https" if address.is_secure else "http"
        host = f"[{address.host}]" if ":" in address.host else address.host or CLOUD_HOST
        host_and_port = f"{host}:{address.port}" if address.port else host
        httpx.get(f"{scheme}://{host_and_port}/api/v2/heartbeat", timeout=REACHABLE_SECONDS)

    def _connect_to_server(self, settings: Settings) -> ClientAPI:
        import chromadb  # slow to import: about a second

        address = self._address
        return chromadb.HttpClient(
            address.host,
            address.port or 0,
            ssl=address.is_secure,
            settings=settings,
            tenant=address.tenant,
            database=address.database,
        )

    def _connect_to_cloud(self, settings: Settings) -> ClientAPI:
        import chromadb

        key = os.environ.get(KEY, "").strip()
        if not key:
            raise IndexUnreachable(f"the API key is missing; set {KEY}")
        address = self._address
        address_options = {"cloud_host": address.host, "cloud_port": address.port, "enable_ssl": address.is_secure}
        return chromadb.CloudClient(
            address.tenant,
            address.database,
            key,
            settings,
            **(address_options if address.host else {}),  # type: ignore[arg-type]
        )


def _query_collection(collection: Any, *, vector: Vector, k: int) -> list[tuple[str, float]]:
    """Return the keys and similarities of at most k nearest vectors, highest first."""
    result = collection.query(query_embeddings=vector[None], n_results=k, include=["distances"])
    nearest = zip(result["ids"][0], result["distances"][0], strict=True)
    return [(str(key), 1.0 - float(distance)) for key, distance in nearest]


def _http_clients(api: Any) -> tuple[httpx.Client, httpx.Client]:
    """Return the HTTP clients of a ChromaDB client and of its admin client, which ChromaDB does not close."""
    return api._server._session, api._admin_client._server._session


def _close_client(client: Client) -> None:
    for session in _http_clients(client.api):
        session.close()
    client.api.close()  # type: ignore[attr-defined]
