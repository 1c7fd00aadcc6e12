"""Conversations: what was said between people and an agent, kept beyond a restart."""

from __future__ import annotations

from typing import Self

from atlas.infra import aio
from atlas.memory.backing import PlainStore
from atlas.memory.conversations_async import COLLECTION, MAIN, AsyncConversations, Turn
from atlas.memory.retrieval import RetrievalMemory
from atlas.storage.vector_store import LedgerVectorStore

__all__ = ["COLLECTION", "MAIN", "Conversations", "Turn"]


class Conversations(AsyncConversations, RetrievalMemory[Turn]):
    """The turns of conversations, in a vector store.

    Each method has an async twin, with an `a` before its name, whose docstring says more.
    """

    def _over(self, store: LedgerVectorStore | PlainStore) -> Self:
        return type(self)(
            self.embedder,
            store,
            self.collection_name,
            max_turns=self.max_turns,
            ttl=self.ttl,
            weights=self._weights,
            clock=self._clock,
        )

    def add(self, user_text: str, response: str, conversation: str = MAIN) -> str:
        """Sync form of `aadd`."""
        return aio.run(self.aadd(user_text, response, conversation))

    def window(self, conversation: str = MAIN) -> list[Turn]:
        """Sync form of `awindow`."""
        return aio.run(self.awindow(conversation))

    def turns(self, conversation: str = MAIN, limit: int = 50) -> list[Turn]:
        """Sync form of `aturns`."""
        return aio.run(self.aturns(conversation, limit))

    def names(self) -> dict[str, int]:
        """Sync form of `anames`."""
        return aio.run(self.anames())

    def search(self, query: str, k: int = 5, *, conversation: str | None = None) -> list[Turn]:
        """Sync form of `asearch`."""
        return aio.run(self.asearch(query, k, conversation=conversation))
