"""The specification's `VectorStore` over a collection. Each coroutine calls the collection in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from atlas.core.hits import QueryResult
from atlas.infra.bridge import in_thread
from atlas.protocols.infra import Where
from atlas.storage.collection import Collection


class LedgerVectorStore:
    """One collection behind the async protocol `VectorStore`."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        """The synchronous collection, which has further methods."""

    async def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Write new records, which are durable and visible to every process when this returns."""
        await in_thread(self.collection.add, ids, embeddings, metadatas, documents)

    async def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Replace records. Raise `NotFound` if one does not exist."""
        await in_thread(self.collection.update, ids, embeddings, metadatas, documents)

    async def delete(self, ids: list[str]) -> None:
        """Remove records, keeping them in the history. Unknown ids are ignored."""
        await in_thread(self.collection.delete, ids)

    async def query(self, embedding: npt.ArrayLike, k: int, where: Where | None = None) -> QueryResult:
        """Return the k records that pass a filter and whose best window is nearest to a vector."""
        return await in_thread(self.collection.query, embedding, k, where)

    async def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the records that exist, in the order of `ids`."""
        return await in_thread(self.collection.get, ids)

    async def count(self, where: Where | None = None) -> int:
        """Return the number of records that pass a filter."""
        return await in_thread(self.collection.count, where)

    async def search_text(self, text: str, k: int, where: Where | None = None) -> QueryResult:
        """Return the k best records by BM25, best first."""
        return await in_thread(self.collection.search_text, text, k, where)

    async def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return records sorted by a metadata key or by insertion, without vectors and content."""
        return await in_thread(
            self.collection.scan, where, order_by=order_by, descending=descending, limit=limit, offset=offset
        )
