"""A collection of ChromaDB as a vector store, for experiments with single memories.

ChromaDB loses rows if several processes write to one directory, and keeps no history. `atlas.open_memory` has neither
problem, because it writes to a ledger, and only uses ChromaDB as an index.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.hits import QueryResult
from atlas.core.types import Vector
from atlas.protocols.infra import Where
from atlas.storage.plain.listing import list_rows

BATCH = 1_000
"""Number of records in one call, which ChromaDB limits to some thousands."""

SPACE = "cosine"


DEFAULT_COLLECTION = "atlas"
"""Name of the collection of a store without a name, outside of a memory."""


class ChromaVectorStore:
    """One or all collections of a ChromaDB client, such as `chromadb.EphemeralClient()`."""

    def __init__(self, client: Any, collection_name: str | None = None) -> None:
        """Wrap a client.

        Args:
            collection_name: A single collection for all memories. By default each memory uses its own
                `collection_name`: `atlas_experiences`, `atlas_concepts`, `atlas_strategies`.

        Raises:
            InvalidInput: The collection exists with a distance other than cosine.
        """
        self._client = client
        self._collection_name = collection_name
        self._stores: dict[str, ChromaVectorStore] = {}
        self._lock = threading.RLock()
        self._opened_collection = None if collection_name is None else _open_collection(client, collection_name)

    def for_collection(self, name: str) -> ChromaVectorStore:
        """Return a store of one collection of the client, or this store if it is limited to one collection.

        Raises:
            InvalidInput: The collection exists with a distance other than cosine. Or the collection
                does not exist yet, and an earlier version wrote its records to the collection `atlas`.
        """
        if self._collection_name is not None:
            return self
        with self._lock:
            if name not in self._stores:
                _check_no_former_collection(self._client, name)
                self._stores[name] = ChromaVectorStore(self._client, name)
            return self._stores[name]

    @property
    def _collection(self) -> Any:
        """ChromaDB's collection, which is created if it does not exist."""
        with self._lock:
            if self._opened_collection is None:
                self._opened_collection = _open_collection(self._client, DEFAULT_COLLECTION)
            return self._opened_collection

    async def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Add new records.

        Raises:
            InvalidInput: An id exists already.
        """
        existing = [row["id"] for row in await self.get(ids)]
        if existing:
            raise InvalidInput(f"the record {existing[0]!r} exists already; delete it first")
        await asyncio.to_thread(_write_batches, self._collection.add, ids, embeddings, metadatas, documents)

    async def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Replace records.

        Raises:
            NotFound: An id does not exist.
        """
        rows = {row["id"]: row for row in await self.get(ids)}
        for record_id in ids:
            if record_id not in rows:
                raise NotFound(f"there is no record {record_id!r}; it may have been deleted")
        old_metadatas = [rows[record_id]["metadata"] or {} for record_id in ids]
        # ChromaDB keeps keys that are missing in an update, and removes those with the value None.
        updates = [dict.fromkeys(old) | new for old, new in zip(old_metadatas, metadatas, strict=True)]
        await asyncio.to_thread(_write_batches, self._collection.update, ids, embeddings, updates, documents)

    async def query(self, embedding: npt.ArrayLike, k: int, where: Where | None = None) -> QueryResult:
        """Return the k records nearest to a vector, nearest first.

        ChromaDB's index is approximate, and may return too few records. Then all records are compared.
        """
        if k < 1:
            return QueryResult(ids=[], distances=[], metadatas=[], documents=[])
        vector = np.asarray(embedding, np.float32)
        result = await asyncio.to_thread(
            self._collection.query,
            query_embeddings=[vector],
            n_results=k,
            where=_to_chroma_filter(where),
            include=["distances", "metadatas", "documents"],
        )
        if len(result["ids"][0]) < min(k, await self.count(where)):
            return await asyncio.to_thread(_find_nearest, self._collection, vector, k, _to_chroma_filter(where))
        return QueryResult(**{name: result[name][0] for name in ("ids", "distances", "metadatas", "documents")})

    async def delete(self, ids: list[str]) -> None:
        """Remove records. Unknown ids are ignored."""
        if ids:
            await asyncio.to_thread(self._collection.delete, ids=ids)

    async def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the records that exist, in the order of `ids`."""
        if not ids:
            return []
        distinct_ids = list(dict.fromkeys(ids))
        result = await asyncio.to_thread(
            self._collection.get, ids=distinct_ids, include=["embeddings", "metadatas", "documents"]
        )
        columns = zip(result["ids"], result["embeddings"], result["metadatas"], result["documents"], strict=True)
        rows = {
            record_id: {"id": record_id, "embedding": embedding, "metadata": metadata, "document": document}
            for record_id, embedding, metadata, document in columns
        }
        return [rows[record_id] for record_id in ids if record_id in rows]

    async def count(self, where: Where | None = None) -> int:
        """Return the number of records that pass a filter."""
        if where is None:
            return int(await asyncio.to_thread(self._collection.count))
        result = await asyncio.to_thread(self._collection.get, where=_to_chroma_filter(where), include=[])
        return len(result["ids"])

    async def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return records sorted by a metadata key or by insertion, without vectors."""
        rows = await asyncio.to_thread(lambda: list(_read_rows(self._collection, None, ["metadatas", "documents"])))
        return list_rows(rows, where, order_by=order_by, descending=descending, limit=limit, offset=offset)


def _open_collection(client: Any, name: str) -> Any:
    """Return a collection of a client, created if it does not exist.

    Raises:
        InvalidInput: The collection's distance is not cosine.
    """
    collection = client.get_or_create_collection(
        name, configuration={"hnsw": {"space": SPACE}}, embedding_function=None
    )
    space = (collection.configuration_json.get("hnsw") or {}).get("space")
    if space != SPACE:
        raise InvalidInput(
            f"expected the distance {SPACE!r} for the collection {name!r}, got {space!r}; "
            "choose another collection_name"
        )
    return collection


def _check_no_former_collection(client: Any, name: str) -> None:
    """Raise `InvalidInput` if a collection does not exist, and an earlier version wrote its records to `atlas`."""
    names = {collection.name for collection in client.list_collections()}
    if name in names or DEFAULT_COLLECTION not in names:
        return
    metadatas = client.get_collection(DEFAULT_COLLECTION, embedding_function=None).peek(1)["metadatas"]
    if metadatas and "content" in (metadatas[0] or {}):
        raise InvalidInput(
            f"an earlier version wrote the records of this client to {DEFAULT_COLLECTION!r}, not to {name!r}; to use "
            f"them, wrap the client in ChromaVectorStore(client, {DEFAULT_COLLECTION!r})"
        )


def _write_batches(
    method: Callable[..., Any],
    ids: list[str],
    embeddings: Sequence[npt.ArrayLike],
    metadatas: list[dict[str, Any]],
    documents: list[str],
) -> None:
    """Pass records to a method of a collection, in batches that ChromaDB accepts."""
    vectors = [np.asarray(embedding, np.float32) for embedding in embeddings]
    for start in range(0, len(ids), BATCH):
        batch = slice(start, start + BATCH)
        method(ids=ids[batch], embeddings=vectors[batch], metadatas=metadatas[batch], documents=documents[batch])


def _read_rows(collection: Any, where: dict[str, Any] | None, include: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the records that match a filter, in batches, because ChromaDB limits the size of a result."""
    names = {"embeddings": "embedding", "metadatas": "metadata", "documents": "document"}
    for offset in count(0, BATCH):
        result = collection.get(where=where, limit=BATCH, offset=offset, include=include)
        for index, record_id in enumerate(result["ids"]):
            yield {"id": record_id, **{names[name]: result[name][index] for name in include}}
        if len(result["ids"]) < BATCH:
            return


def _find_nearest(collection: Any, vector: Vector, k: int, where: dict[str, Any] | None) -> QueryResult:
    """Return the k nearest records, comparing all records that pass a filter."""
    rows = list(_read_rows(collection, where, ["embeddings", "metadatas", "documents"]))
    vectors = np.asarray([row["embedding"] for row in rows], np.float32).reshape(len(rows), -1)
    products_of_lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector)
    distances = 1.0 - vectors @ vector / products_of_lengths
    order = np.argsort(distances, kind="stable")[:k]
    return QueryResult(
        ids=[rows[index]["id"] for index in order],
        distances=[float(distances[index]) for index in order],
        metadatas=[rows[index]["metadata"] for index in order],
        documents=[rows[index]["document"] for index in order],
    )


def _to_chroma_filter(where: Where | None) -> dict[str, Any] | None:
    """Return a filter in ChromaDB's form: one key, or one `$and` of several keys."""
    if not where:
        return None
    if len(where) == 1:
        return dict(where)
    return {"$and": [{key: value} for key, value in where.items()]}
