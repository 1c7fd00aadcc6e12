"""A collection of ChromaDB as a vector store: the specification's methods, for experiments with the memories alone.

ChromaDB loses rows where several processes write to one directory, and keeps no history. `atlas.open_memory` has
neither fault: it writes to a ledger, and uses ChromaDB as the index beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.hits import QueryResult
from atlas.protocols.infra import Where

BATCH = 1_000
"""Records in one call: ChromaDB refuses more than some thousands."""

SPACE = "cosine"


class ChromaVectorStore:
    """One collection of a ChromaDB client, such as `chromadb.EphemeralClient()`."""

    def __init__(self, client: Any, collection_name: str = "atlas") -> None:
        """Open a collection, creating it where there is none.

        Raises:
            InvalidInput: The collection that is there measures by something other than the cosine.
        """
        made = client.get_or_create_collection(
            collection_name, configuration={"hnsw": {"space": SPACE}}, embedding_function=None
        )
        space = (made.configuration_json.get("hnsw") or {}).get("space")
        if space != SPACE:
            raise InvalidInput(
                f"the collection {collection_name!r} should measure by {SPACE!r}, but does so by {space!r}; "
                "choose another collection_name"
            )
        self._collection = made

    async def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Hold new records.

        Raises:
            InvalidInput: An id is there already.
        """
        held = [row["id"] for row in await self.get(ids)]
        if held:
            raise InvalidInput(f"the record {held[0]!r} is there already; delete it first")
        await asyncio.to_thread(_write, self._collection.add, ids, embeddings, metadatas, documents)

    async def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Replace records.

        Raises:
            NotFound: An id is not there.
        """
        rows = {row["id"]: row for row in await self.get(ids)}
        for record_id in ids:
            if record_id not in rows:
                raise NotFound(f"there is no record {record_id!r}; it may have been deleted")
        olds = [rows[record_id]["metadata"] or {} for record_id in ids]
        given = [dict.fromkeys(old) | new for old, new in zip(olds, metadatas, strict=True)]  # None takes a key away
        await asyncio.to_thread(_write, self._collection.update, ids, embeddings, given, documents)

    async def query(self, embedding: npt.ArrayLike, k: int, where: Where | None = None) -> QueryResult:
        """Return the k records nearest to a vector, nearest first."""
        if k < 1:
            return QueryResult(ids=[], distances=[], metadatas=[], documents=[])
        found = await asyncio.to_thread(
            self._collection.query,
            query_embeddings=[np.asarray(embedding, np.float32)],
            n_results=k,
            where=_in_chroma(where),
            include=["distances", "metadatas", "documents"],
        )
        return QueryResult(**{name: found[name][0] for name in ("ids", "distances", "metadatas", "documents")})

    async def delete(self, ids: list[str]) -> None:
        """Remove records. Unknown ids are ignored."""
        if ids:
            await asyncio.to_thread(self._collection.delete, ids=ids)

    async def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the records found, in the order of `ids`."""
        if not ids:
            return []
        given = list(dict.fromkeys(ids))
        found = await asyncio.to_thread(
            self._collection.get, ids=given, include=["embeddings", "metadatas", "documents"]
        )
        columns = zip(found["ids"], found["embeddings"], found["metadatas"], found["documents"], strict=True)
        rows = {one: {"id": one, "embedding": e, "metadata": m, "document": d} for one, e, m, d in columns}
        return [rows[one] for one in ids if one in rows]

    async def count(self, where: Where | None = None) -> int:
        """Return how many records pass a filter."""
        if where is None:
            return int(await asyncio.to_thread(self._collection.count))
        found = await asyncio.to_thread(self._collection.get, where=_in_chroma(where), include=[])
        return len(found["ids"])


def _write(
    method: Callable[..., Any],
    ids: list[str],
    embeddings: Sequence[npt.ArrayLike],
    metadatas: list[dict[str, Any]],
    documents: list[str],
) -> None:
    """Hand records to a method of a collection, as many at once as ChromaDB takes."""
    vectors = [np.asarray(embedding, np.float32) for embedding in embeddings]
    for start in range(0, len(ids), BATCH):
        one = slice(start, start + BATCH)
        method(ids=ids[one], embeddings=vectors[one], metadatas=metadatas[one], documents=documents[one])


def _in_chroma(where: Where | None) -> dict[str, Any] | None:
    """Return a filter as ChromaDB takes it: one key, or one `$and` of several."""
    if not where:
        return None
    return dict(where) if len(where) == 1 else {"$and": [{key: value} for key, value in where.items()]}
