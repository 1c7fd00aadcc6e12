"""Journal: what an agent noted, generation by generation (Protea's memory, without its problems)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from atlas.core.types import JournalEntry, Link
from atlas.infra import aio
from atlas.memory.backing import PlainStore
from atlas.memory.journal_async import AsyncJournal
from atlas.memory.journal_compacting import CompactPlan, Move, SummaryDraft
from atlas.memory.journal_entries_async import COLLECTION, LIVE
from atlas.memory.journal_gates_async import ACCEPTED, GATES, REFUSED_COLLECTION, Gate, Refusals, RefusedEntry
from atlas.memory.journal_linking import Edge, LinkGraph, LinkSuggestion
from atlas.memory.retrieval import RetrievalMemory
from atlas.protocols.infra import Progress, Where
from atlas.storage.vector_store import LedgerVectorStore

__all__ = [
    "ACCEPTED",
    "COLLECTION",
    "GATES",
    "LIVE",
    "REFUSED_COLLECTION",
    "CompactPlan",
    "Edge",
    "Gate",
    "Journal",
    "LinkGraph",
    "LinkSuggestion",
    "Move",
    "Refusals",
    "RefusedEntry",
    "SummaryDraft",
]


class Journal(AsyncJournal, RetrievalMemory[JournalEntry]):
    """The log of an agent, in a vector store.

    Each method has an async twin, with an `a` before its name, whose docstring says more.
    """

    def _over(self, store: LedgerVectorStore | PlainStore) -> Self:
        return type(self)(
            self.embedder,
            store,
            self._refused,
            self.collection_name,
            keep_noise=self.keep_noise,
            keep_repetitions=self.keep_repetitions,
            llm=self.llm,
            types=self.types,
            weights=self._weights,
            clock=self._clock,
        )

    def add(
        self,
        entry_type: str,
        content: str,
        *,
        generation: int,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        links: Sequence[Link | tuple[str, str]] = (),
    ) -> str | None:
        """Sync form of `aadd`."""
        return aio.run(
            self.aadd(entry_type, content, generation=generation, importance=importance, metadata=metadata, links=links)
        )

    def add_entries(self, entries: Sequence[JournalEntry], reason: str = "") -> list[str]:
        """Sync form of `aadd_entries`."""
        return aio.run(self.aadd_entries(entries, reason))

    def edit(self, entry_id: str, **changes: Any) -> JournalEntry:
        """Sync form of `aedit`."""
        return aio.run(self.aedit(entry_id, **changes))

    def rejected(self, limit: int = 20) -> Refusals:
        """Sync form of `arejected`."""
        return aio.run(self.arejected(limit))

    def accept(self, refused_id: str) -> str:
        """Sync form of `aaccept`."""
        return aio.run(self.aaccept(refused_id))

    def get_recent(self, limit: int = 10, *, tiers: Sequence[str] = LIVE) -> list[dict[str, Any]]:
        """Sync form of `aget_recent`."""
        return aio.run(self.aget_recent(limit, tiers=tiers))

    def get_by_type(self, entry_type: str, limit: int = 10, *, tiers: Sequence[str] = LIVE) -> list[dict[str, Any]]:
        """Sync form of `aget_by_type`."""
        return aio.run(self.aget_by_type(entry_type, limit, tiers=tiers))

    def recent(
        self, limit: int = 10, entry_types: Sequence[str] | None = None, *, tiers: Sequence[str] = LIVE
    ) -> list[JournalEntry]:
        """Sync form of `arecent`."""
        return aio.run(self.arecent(limit, entry_types, tiers=tiers))

    def search(
        self, query: str, k: int = 10, *, where: Where | None = None, with_archived: bool = False
    ) -> list[JournalEntry]:
        """Sync form of `asearch`."""
        return aio.run(self.asearch(query, k, where=where, with_archived=with_archived))

    def link(self, source_id: str, target_id: str, link_type: str = "related") -> JournalEntry:
        """Sync form of `alink`."""
        return aio.run(self.alink(source_id, target_id, link_type))

    def unlink(self, source_id: str, target_id: str, link_type: str | None = None) -> JournalEntry:
        """Sync form of `aunlink`."""
        return aio.run(self.aunlink(source_id, target_id, link_type))

    def linked(self, entry_id: str, depth: int = 1) -> LinkGraph:
        """Sync form of `alinked`."""
        return aio.run(self.alinked(entry_id, depth))

    def suggest_links(self, limit: int = 20) -> list[LinkSuggestion]:
        """Sync form of `asuggest_links`."""
        return aio.run(self.asuggest_links(limit))

    def accept_link(self, suggestion: LinkSuggestion) -> JournalEntry:
        """Sync form of `aaccept_link`."""
        return aio.run(self.aaccept_link(suggestion))

    def refuse_link(self, suggestion: LinkSuggestion) -> None:
        """Sync form of `arefuse_link`."""
        aio.run(self.arefuse_link(suggestion))

    def note_promotion(self, entry_ids: Sequence[str], name: str) -> None:
        """Sync form of `anote_promotion`."""
        aio.run(self.anote_promotion(entry_ids, name))

    def context_for_evolution(self, limit: int | None = None, *, token_budget: int | None = None) -> list[JournalEntry]:
        """Sync form of `acontext_for_evolution`."""
        return aio.run(self.acontext_for_evolution(limit, token_budget=token_budget))

    def context_for_task(
        self, task: str, limit: int | None = None, *, token_budget: int | None = None, count_retrieval: bool = True
    ) -> list[JournalEntry]:
        """Sync form of `acontext_for_task`."""
        return aio.run(self.acontext_for_task(task, limit, token_budget=token_budget, count_retrieval=count_retrieval))

    def context_for_task_generation(
        self, limit: int | None = None, *, token_budget: int | None = None
    ) -> list[JournalEntry]:
        """Sync form of `acontext_for_task_generation`."""
        return aio.run(self.acontext_for_task_generation(limit, token_budget=token_budget))

    def plan_compact(
        self,
        keep_recent: int = 200,
        keep_types: Mapping[str, int] | None = None,
        on_progress: Progress | None = None,
    ) -> CompactPlan:
        """Sync form of `aplan_compact`."""
        return aio.run(self.aplan_compact(keep_recent, keep_types, on_progress))

    def check_compact(self, plan: CompactPlan) -> None:
        """Sync form of `acheck_compact`."""
        aio.run(self.acheck_compact(plan))

    def apply_compact(self, plan: CompactPlan) -> str | None:
        """Sync form of `aapply_compact`."""
        return aio.run(self.aapply_compact(plan))

    def compact(self, keep_recent: int = 200, keep_types: Mapping[str, int] | None = None) -> CompactPlan:
        """Sync form of `acompact`."""
        return aio.run(self.acompact(keep_recent, keep_types))
