"""One collection of a vector store that several memories share. A metadata key marks the records of each memory."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy.typing as npt

from atlas.core.hits import QueryResult
from atlas.infra.duck_typing import get_member
from atlas.protocols.infra import BrowsableVectorStore, VectorStore, Where
from atlas.storage.damage import UNREADABLE

COLLECTION = "atlas_collection"
"""Metadata key of the name of a record's collection, the mark of its memory."""

FIRST_REQUESTED = 1_000
"""Initial k when listing all records."""

GROWTH = 4
"""Factor by which k grows until a search returns enough records of the collection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScope:
    """The part of a shared vector store that a memory reads and writes."""

    collection: str
    """Name of the memory's collection, with which its records are marked."""

    content_field: str
    """A field that only this memory's content has, to recognise unmarked records."""


class ScopedStore:
    """View of one collection of a shared vector store.

    Records without the mark, from earlier versions, are assigned to a memory by their content. Queries filter by the
    mark, unless the store contains unmarked records. Results that violate the filter are dropped.
    """

    def __init__(self, store: VectorStore, scope: MemoryScope, arbitrary_vector: list[float]) -> None:
        """Use one collection of a store.

        Args:
            arbitrary_vector: Any vector of the store's dimension, to list records by a query.
        """
        self._store = cast(BrowsableVectorStore, store)
        self._scope = scope
        self._arbitrary_vector = arbitrary_vector
        self._has_unmarked: bool | None = None
        """None until the records were listed."""

    async def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Add new records of the collection."""
        await self._store.add(ids, embeddings, self._with_scope_mark(metadatas), documents)

    async def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Replace records of the collection."""
        await self._store.update(ids, embeddings, self._with_scope_mark(metadatas), documents)

    async def delete(self, ids: list[str]) -> None:
        """Remove records of the collection, ignoring other ids."""
        if own_ids := [row["id"] for row in await self.get(ids)]:
            await self._store.delete(own_ids)

    async def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the records of the collection that exist, in the order of `ids`."""
        rows = await self._store.get(ids) if ids else []
        return [row for row in rows if self._owns(row["metadata"])]

    async def query(self, embedding: npt.ArrayLike, k: int, where: Where | None = None) -> QueryResult:
        """Return the k records of the collection that are nearest to a vector, nearest first."""
        scoped_filter = await self._scope_filter(where)
        return await self._search_collection(
            k, lambda n_requested: self._store.query(embedding, n_requested, scoped_filter)
        )

    async def search_text(self, text: str, k: int, where: Where | None = None) -> QueryResult:
        """Return the k records of the collection that the store finds by words, best first."""
        scoped_filter = await self._scope_filter(where)
        return await self._search_collection(
            k, lambda n_requested: self._store.search_text(text, n_requested, scoped_filter)
        )

    async def count(self) -> int:
        """Return the number of records of the collection, listing them."""
        if get_member(self._store, "scan"):
            return len(await self.scan())
        return len((await self.query(self._arbitrary_vector, await self._store.count())).ids)

    async def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return the records of the collection, sorted by a metadata key or by insertion."""
        rows = await self._store.scan(await self._scope_filter(where), order_by=order_by, descending=descending)
        own_rows = [row for row in rows if self._owns(row["metadata"])]
        return own_rows[offset : None if limit is None else offset + limit]

    async def _search_collection(self, k: int, search: Callable[[int], Awaitable[QueryResult]]) -> QueryResult:
        """Return the best k hits of the collection, repeating a search with a growing k until there are enough."""
        n_requested = k
        while k > 0:  # chromadb refuses a search for none
            result = await search(n_requested)
            indices = [index for index, metadata in enumerate(result.metadatas) if self._owns(metadata)][:k]
            if len(indices) == k or len(result.ids) < n_requested:
                return _select(result, indices)
            n_requested *= GROWTH
        return QueryResult(ids=[], distances=[], metadatas=[], documents=[])

    async def _scope_filter(self, where: Where | None) -> Where | None:
        """Return a filter that also requires the mark of the collection, in a form that ChromaDB takes as well.

        While the store has unmarked records, `where` is returned unchanged. So callers also filter the result.
        """
        if self._has_unmarked is None:
            self._has_unmarked = await self._look_for_unmarked()
        if self._has_unmarked:
            return where
        conditions = [*({name: value} for name, value in (where or {}).items()), {COLLECTION: self._scope.collection}]
        return {"$and": conditions} if len(conditions) > 1 else conditions[0]

    async def _look_for_unmarked(self) -> bool:
        """List the whole store, and return whether the collection has unmarked records."""
        metadatas = [row["metadata"] for row in await self._store.scan()] if get_member(self._store, "scan") else None
        if metadatas is None:
            n_requested = FIRST_REQUESTED
            while len((result := await self._store.query(self._arbitrary_vector, n_requested)).ids) == n_requested:
                n_requested *= GROWTH
            metadatas = result.metadatas
        return any(COLLECTION not in metadata and self._owns(metadata) for metadata in metadatas)

    def _with_scope_mark(self, metadatas: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{**metadata, COLLECTION: self._scope.collection} for metadata in metadatas]

    def _owns(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a record with this metadata belongs to the collection."""
        if COLLECTION in metadata:
            return bool(metadata[COLLECTION] == self._scope.collection)
        try:
            return self._scope.content_field in json.loads(metadata["content"])
        except UNREADABLE:
            return False


def _select(result: QueryResult, indices: Sequence[int]) -> QueryResult:
    """Return the records at these indices of a result."""
    fields = {name: getattr(result, name) for name in ("ids", "distances", "metadatas", "documents")}
    return QueryResult(**{name: [values[index] for index in indices] for name, values in fields.items()})
