"""What every memory offers for finding what it holds, waited for."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.core.hits import Hit, Retrieval
from atlas.infra import aio
from atlas.memory.records import RecordMemory
from atlas.memory.retrieval_async import AsyncRetrievalMemory, T
from atlas.protocols.infra import Where


class RetrievalMemory(AsyncRetrievalMemory[T], RecordMemory):
    """The records of one collection, as what they stand for. Each method has an async twin that says more."""

    def get(self, record_id: str) -> T | None:
        """Sync form of `aget`."""
        return aio.run(self.aget(record_id))

    def get_many(self, record_ids: Sequence[str]) -> list[T]:
        """Sync form of `aget_many`."""
        return aio.run(self.aget_many(record_ids))

    def search_hits(
        self,
        query: str,
        k: int = 4,
        *,
        where: Where | None = None,
        count_retrieval: bool = True,
        with_buried: bool = False,
    ) -> list[Hit[T]]:
        """Sync form of `asearch_hits`."""
        return aio.run(
            self.asearch_hits(query, k, where=where, count_retrieval=count_retrieval, with_buried=with_buried)
        )

    def retrieve(
        self,
        query: str,
        k: int = 4,
        *,
        where: Where | None = None,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
        count_retrieval: bool = True,
        with_buried: bool = False,
    ) -> Retrieval[T]:
        """Sync form of `aretrieve`."""
        return aio.run(
            self.aretrieve(
                query,
                k,
                where=where,
                threshold=threshold,
                distinct=distinct,
                diversity=diversity,
                count_retrieval=count_retrieval,
                with_buried=with_buried,
            )
        )

    def search_words(
        self,
        words: str,
        k: int = 20,
        *,
        where: Where | None = None,
        with_buried: bool = False,
        as_typed: bool = True,
    ) -> list[T]:
        """Sync form of `asearch_words`."""
        return aio.run(self.asearch_words(words, k, where=where, with_buried=with_buried, as_typed=as_typed))

    def similar(self, record_id: str, k: int = 4, *, with_buried: bool = False) -> list[Hit[T]]:
        """Sync form of `asimilar`."""
        return aio.run(self.asimilar(record_id, k, with_buried=with_buried))

    def passage(self, record_id: str, query: str) -> str | None:
        """Sync form of `apassage`."""
        return aio.run(self.apassage(record_id, query))
