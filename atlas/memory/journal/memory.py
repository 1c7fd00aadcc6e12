"""Journal: an agent's log by generation, compatible with Protea's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from atlas.core.filters import parse_scope
from atlas.core.journal_codec import TIERS, check_entry_arguments
from atlas.core.settings import RankingWeights
from atlas.core.types import JournalEntry, Link
from atlas.infra.actor import Role, check_role
from atlas.infra.clock import SystemClock
from atlas.infra.twin import twin
from atlas.memory.base.edits import Editable, check_changes
from atlas.memory.base.latest import next_sort_key
from atlas.memory.base.marks import check_may_change
from atlas.memory.base.memory import Memory, Row, Weights
from atlas.memory.base.records import retry
from atlas.memory.base.retriever import Search
from atlas.memory.journal import compaction, links
from atlas.memory.journal.compact_plan import CompactPlan, RetentionPolicy
from atlas.memory.journal.contexts import EVOLUTION, SUMMARY, TASK_GENERATION, EntrySelector, resolve_limit
from atlas.memory.journal.entries import CONTEXT, LOG_TEXT, NOUN, PROMPT_TIERS, EntryLog
from atlas.memory.journal.entry_types import EntryType, EntryTypes
from atlas.memory.journal.gates import REFUSED_COLLECTION, Gate, Gates, Refusals, gate_note
from atlas.memory.journal.importance import importance_of
from atlas.memory.journal.links import LinkGraph, LinkSuggestion
from atlas.memory.journal.records import FIELDS, as_protea, from_row, new_entry, sortable_time
from atlas.protocols.infra import Clock, Embedder, LLMClient, Progress, VectorStore, Where
from atlas.storage.collection import Collection
from atlas.storage.plain.collection import as_collection
from atlas.storage.plain.scoped_store import MemoryScope

COLLECTION = "atlas_journal"

EDITABLE: Editable = {
    "content": str,
    "generation": int,
    "importance": (int, float),
    "metadata": Mapping,
    "tier": str,
}


class Journal(Memory[JournalEntry]):
    """The log of an agent, in a vector store. Each method has an async twin, with an `a` before its name."""

    noun = NOUN
    fields = FIELDS
    content_field = "entry_type"
    context = CONTEXT

    def __init__(
        self,
        embedder: Embedder,
        vector_store: VectorStore | Collection,
        refused_store: VectorStore | Collection | None = None,
        collection_name: str = COLLECTION,
        *,
        keep_noise: bool | None = None,
        keep_repetitions: bool | None = None,
        llm: LLMClient | None = None,
        types: EntryTypes | None = None,
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
    ) -> None:
        """Open a journal.

        Args:
            refused_store: Store of refused entries. Without such a store both gates are off.
            keep_noise: Whether noise is written too, or None for the setting of `switch_gate`.
            keep_repetitions: Whether near-duplicates of recent entries are written too, or None for the setting of
                `switch_gate`.
            llm: Language model that writes summaries of compacted entries.
            types: Types of entries, or None for the built-in types and the types registered in the store.
        """
        super().__init__(embedder, vector_store, collection_name, weights, clock)
        refused_scope = MemoryScope(collection=REFUSED_COLLECTION, content_field=self.content_field)
        self._refused = (
            None if refused_store is None else as_collection(refused_store, self.embedder.dimension, refused_scope)
        )
        self.keep_noise = keep_noise
        self.keep_repetitions = keep_repetitions
        self.llm = llm
        self.types = types or EntryTypes(self._store.notes())

    def register_type(
        self,
        name: str,
        importance: float,
        half_life_days: float | None = 60.0,
        *,
        is_gated: bool = True,
        counts_as: str = "",
    ) -> None:
        """Add a type of entries to the store, or replace the type with the same name. See `EntryType`."""
        check_role(Role.CURATOR, "register a type of entries")
        registered = EntryType(
            name=name, importance=importance, half_life_days=half_life_days, is_gated=is_gated, counts_as=counts_as
        )
        self.types.save(self._store, registered)

    # Gates

    def gates(self) -> tuple[Gate, ...]:
        """Return the current state of both gates, noise first."""
        return self._gates.states(self._store.notes())

    def switch_gate(self, name: str, is_on: bool) -> None:
        """Switch the gate `noise` or `near-duplicate` on or off, for all writers without a setting of their own."""
        check_role(Role.CURATOR, "switch a gate")
        self._store.write_note(*gate_note(name, is_on))

    def rejected(self, limit: int = 20) -> Refusals:
        """Return the numbers of refused entries, and the latest refused entries."""
        return self._gates.rejected(limit)

    arejected = twin(rejected)

    def accept(self, refused_id: str) -> str:
        """Write a refused entry and return its id, or raise `NotFound`. After an undo, the entry is refused again."""
        return self._gates.accept(refused_id, self._log)

    aaccept = twin(accept)

    # Writing

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
        """Write an entry and return its id, or None if a gate refused it. `rejected` returns the reason.

        Args:
            importance: In [0, 1]. None to derive it from the type and the content.
            metadata: JSON values, which filters address as `meta.name`. `agent` names the writer on the dashboard. Some
                keys are reserved.
            links: Links to existing entries, each as a type and an id.

        Raises `InvalidInput` for an invalid value, and `NotFound` if a linked entry does not exist.
        """
        check_entry_arguments(entry_type, content, metadata, links)
        parse_scope(metadata or {})
        notes = self._store.notes()
        self.types.load(notes)
        type_of_entry, now = self.types[entry_type], self._clock.now()
        sort_key = next_sort_key(self._store, sortable_time(now))
        initial_importance = importance_of(type_of_entry, content, metadata or {}) if importance is None else importance
        draft = new_entry(
            type_of_entry.name,
            content,
            generation,
            initial_importance,
            metadata or {},
            links,
            now=now,
            sort_key=sort_key,
        )
        entry = self._prepare_new(draft)
        self._log.check_exist([link.target_id for link in entry.links])
        is_refused = self._gates.store_if_refused(entry, type_of_entry, notes, self._log)
        return None if is_refused else self.add_entries([entry])[0]

    aadd = twin(add)

    def add_entries(self, entries: Sequence[JournalEntry], reason: str = "") -> list[str]:
        """Write entries as one operation, without gates, and return the ids of the new ones.

        Unknown types, and links to entries that do not exist yet, are allowed. An existing entry only gains links that
        it never had. Raises `InvalidInput` if an entry is invalid.
        """
        return self._log.add([*map(self._prepare_new, entries)], reason)

    aadd_entries = twin(add_entries)

    def edit(self, /, entry_id: str, **changes: Any) -> JournalEntry:
        """Change an entry, embed changed content again, and return the entry.

        Args:
            changes: New values of `content`, `generation`, `importance`, `metadata` or `tier`. Reserved keys of the
                metadata stay.

        Raises `NotFound`, `InvalidInput` for an invalid value, and `PlanOutdated` if concurrent changes outlasted the
        retries.
        """
        check_changes(changes, EDITABLE)
        changes = self._replace_secrets(changes)
        return retry(lambda: self._log.edit(entry_id, changes))

    aedit = twin(edit)

    def delete(self, ids: Sequence[str]) -> int:
        """Delete one or more entries, and return the number of deleted ones. `undo` restores them.

        Entries whose indexed text contains the beginning of a deleted entry are indexed again, so that no search
        finds deleted text.

        Raises `PlanOutdated` if concurrent changes outlasted the retries; the store was not changed.
        """
        distinct_ids = list(dict.fromkeys([ids] if isinstance(ids, str) else ids))
        return retry(lambda: self._log.delete(distinct_ids))

    def restore(self, ids: Sequence[str]) -> int:
        """Restore deleted entries as one operation, and return the number of restored ones.

        These entries and their successors are embedded again, with their new predecessors.

        Raises `NotFound` if an id never had an entry; the store was not changed.
        """
        return self._log.restore(ids)

    # Reading

    def get_recent(self, limit: int = 10, *, tiers: Sequence[str] = PROMPT_TIERS) -> list[dict[str, Any]]:
        """Return the latest entries of all types, newest first, in the form of Protea's `MemoryStore`."""
        return [as_protea(entry) for entry in self.recent(limit, tiers=tiers)]

    aget_recent = twin(get_recent)

    def get_by_type(
        self, entry_type: str, limit: int = 10, *, tiers: Sequence[str] = PROMPT_TIERS
    ) -> list[dict[str, Any]]:
        """Return the latest entries of a type, newest first, in the form of Protea's `MemoryStore`."""
        return [as_protea(entry) for entry in self.recent(limit, [entry_type], tiers=tiers)]

    aget_by_type = twin(get_by_type)

    def recent(
        self, limit: int = 10, entry_types: Sequence[str] | None = None, *, tiers: Sequence[str] = PROMPT_TIERS
    ) -> list[JournalEntry]:
        """Return the latest entries, newest first. Of equal times, the entry inserted last comes first.

        Args:
            tiers: Tiers to include. With all `core.journal_codec.TIERS`, buried and waiting entries are included too.
        """
        return self._log.recent(limit, entry_types, tiers=tiers)

    arecent = twin(recent)

    def search(
        self, query: str, k: int = 10, *, where: Where | None = None, with_archived: bool = False
    ) -> list[JournalEntry]:
        """Return the k entries most relevant to a query, best first.

        Args:
            where: Filter, such as `{"entry_type": "crash_log", "generation": {"$gte": 50}, "meta.file": "a.py"}`.
            with_archived: Whether archived entries are found too.
        """
        return [hit.item for hit in self.search_hits(query, k, where=where, with_buried=with_archived)]

    asearch = twin(search)

    # Contexts for an agent

    def context_for_evolution(self, limit: int | None = None, *, token_budget: int | None = None) -> list[JournalEntry]:
        """Return the most urgent entries for an agent that is about to modify itself.

        First come the latest directive, crashes, reflections and tasks, the observations with the best scores and the
        best summary, up to a quota of each type. The most valuable other entries follow.

        Args:
            limit: Maximum number of entries; None for as many as fit the budget, or ten without a budget.
        """
        return self._selector.choose_by_quota(EVOLUTION, resolve_limit(limit, token_budget), token_budget)

    acontext_for_evolution = twin(context_for_evolution)

    def context_for_task(
        self, task: str, limit: int | None = None, *, token_budget: int | None = None, count_retrieval: bool = True
    ) -> list[JournalEntry]:
        """Return entries for a task: the last directive, entries about the task, then the most valuable others.

        Args:
            count_retrieval: Whether the entries about the task count as retrieved. Browsing does not count.
        """
        limit = resolve_limit(limit, token_budget)
        related_entries = list[JournalEntry]()
        vector = None
        for count, where in self._selector.quota_filters():
            search = self._prepare(Search(query=task, k=count, where=where, vector=vector))
            vector = search.vector  # the task is embedded once
            related_entries += [hit.item for hit in self._search(search, count_retrieval=count_retrieval).hits]
        return self._selector.choose_for_task(related_entries, limit, token_budget)

    acontext_for_task = twin(context_for_task)

    def context_for_task_generation(
        self, limit: int | None = None, *, token_budget: int | None = None
    ) -> list[JournalEntry]:
        """Return entries for an agent that writes tasks: a summary, the latest tasks, then the most valuable others."""
        return self._selector.choose_by_quota(TASK_GENERATION, resolve_limit(limit, token_budget), token_budget)

    acontext_for_task_generation = twin(context_for_task_generation)

    # Links

    def link(self, source_id: str, target_id: str, link_type: str = "related") -> JournalEntry:
        """Link an entry to another, and return the source with its links. Idempotent.

        Args:
            link_type: From source to target: `caused_by`, `fixed_by`, `related`, `summarises`, `refers_to`.

        Raises `NotFound` if an entry does not exist, and `InvalidInput` for an unknown type or equal ids.
        """
        return links.link(self._log, source_id, target_id, link_type)

    alink = twin(link)

    def unlink(self, source_id: str, target_id: str, link_type: str | None = None) -> JournalEntry:
        """Remove the links from one entry to another, of one type or of all. Return the source, or raise `NotFound`."""
        return links.unlink(self._log, source_id, target_id, link_type)

    aunlink = twin(unlink)

    def linked(self, entry_id: str, depth: int = 1) -> LinkGraph:
        """Return the existing entries within `depth` links of an entry, in either direction.

        Raises `NotFound` if the entry does not exist, and `InvalidInput` for a depth below 1.
        """
        return links.read_link_graph(self._log, entry_id, depth)

    alinked = twin(linked)

    def suggest_links(self, limit: int = 20) -> list[LinkSuggestion]:
        """Return later reflections that may fix unsolved crashes, the most similar first.

        Crashes with an existing fix, and refused links, are left out. Nothing is written.
        """
        return links.suggest_links(self._log, self.types)[: max(limit, 0)]

    asuggest_links = twin(suggest_links)

    def accept_link(self, suggestion: LinkSuggestion) -> JournalEntry:
        """Add a suggested link, and return the source."""
        return self.link(suggestion.source_id, suggestion.target_id, suggestion.type)

    aaccept_link = twin(accept_link)

    def refuse_link(self, suggestion: LinkSuggestion) -> None:
        """Record that a suggestion was refused, or raise `NotFound` if the suggestion's source does not exist."""
        self._log.change(suggestion.source_id, partial(links.with_refusal, suggestion), "refuse a link")

    arefuse_link = twin(refuse_link)

    def note_promotion(self, entry_ids: Sequence[str], name: str) -> None:
        """Record that entries were promoted to a record such as `experience:id`. Raise `NotFound` or `NotAllowed`."""
        check_may_change(self._store, entry_ids)
        for entry_id in entry_ids:
            self._log.change(entry_id, partial(links.with_promotion, name), "promote")

    anote_promotion = twin(note_promotion)

    # Forgetting

    def plan_compact(
        self,
        keep_recent: int = 200,
        keep_types: Mapping[str, int] | None = None,
        on_progress: Progress | None = None,
        *,
        max_entries: int | None = None,
    ) -> CompactPlan:
        """Return a plan to move entries to colder tiers, summarise entries, and delete entries. Nothing is changed.

        The worth of an entry is importance × recency × use × links, with the half-life of its type. Entries of a type
        are summarised once their period of 50 generations is over, or once they leave prompts. The language model
        writes the summary. Without a model, the summary consists of the most central sentences. Each draft names its
        author, and the reason if the author is not the model.

        Args:
            keep_recent: Number of latest entries to keep. Pinned entries, directives and tasks are kept too.
            keep_types: Number of latest entries to keep too, keyed by type. With the key `task`, older tasks may move.
            on_progress: Called after each summary with the number written, and the total.
            max_entries: Maximum number of entries. Further entries are deleted, tasks and marked entries last.
        """
        self.types.load(self._store.notes())
        policy = RetentionPolicy(keep_recent=keep_recent, keep_types=keep_types or {}, max_entries=max_entries)
        return compaction.make_plan(self._log, self.types, self.llm, policy, on_progress)

    aplan_compact = twin(plan_compact)

    def check_compact(self, plan: CompactPlan) -> None:
        """Raise `PlanOutdated` if an entry of the plan has changed, been deleted or been pinned."""
        compaction.check_compact(self._log, plan)

    acheck_compact = twin(check_compact)

    def apply_compact(self, plan: CompactPlan) -> str | None:
        """Apply a plan and return the operation's id, or None for an empty plan. May raise `PlanOutdated`."""
        return None if plan.is_empty else compaction.apply_compact(self._log, plan, self.types[SUMMARY])

    aapply_compact = twin(apply_compact)

    def compact(
        self, keep_recent: int = 200, keep_types: Mapping[str, int] | None = None, *, max_entries: int | None = None
    ) -> CompactPlan:
        """Plan and apply a compaction. `undo` reverts it."""

        def plan_and_apply() -> CompactPlan:
            plan = self.plan_compact(keep_recent, keep_types, max_entries=max_entries)
            self.apply_compact(plan)
            return plan

        return retry(plan_and_apply)

    acompact = twin(compact)

    @property
    def _log(self) -> EntryLog:
        return EntryLog(self._store, self.embedder, LOG_TEXT, self._clock)

    @property
    def _gates(self) -> Gates:
        return Gates(self._refused, self.keep_noise, self.keep_repetitions)

    @property
    def _selector(self) -> EntrySelector:
        return EntrySelector(self._log, self.types)

    def _effective_filter(self, where: Where | None, with_buried: bool) -> Where | None:
        """Return the filter of a search. It excludes archived entries unless `with_buried` is true."""
        if with_buried or not self._store.count({"tier": TIERS[-1]}):
            return where
        return {"$and": [where or {}, {"tier": {"$in": list(TIERS[:-1])}}]}

    def _to_records(self, rows: Sequence[Row]) -> list[JournalEntry]:
        return [from_row(row) for row in rows]
