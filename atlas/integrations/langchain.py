"""A LangChain retriever over all memories of a store.

AtlasRetriever(memory=memory, k=4).invoke("a query")
"""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from atlas.integrations.passages import find_passages
from atlas.memory.context.block import MEMORIES


class AtlasRetriever(BaseRetriever):
    """A LangChain retriever that returns the records most relevant to a query as documents."""

    memory: Any
    """A memory of `atlas.open_memory` or `atlas.connect`."""

    k: int = 4
    """Maximum number of documents."""

    where: dict[str, Any] | None = None
    """Filter for the records of every memory, such as `{"scope.project": "shop"}`."""

    threshold: float | None = None
    """Minimum relevance of a record, in [0, 1], or None for the level of its memory."""

    memories: tuple[str, ...] = MEMORIES
    """Names of the memories that are searched."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        passages = find_passages(
            self.memory, query, self.k, where=self.where, threshold=self.threshold, memories=self.memories
        )
        return [
            Document(
                page_content=passage.text,
                id=passage.id,
                metadata={"memory": passage.memory, "relevance": passage.relevance},
            )
            for passage in passages
        ]
