"""Journal: what an agent noted, generation by generation (Protea's memory, without its problems)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from atlas.core.codec import dump
from atlas.core.errors import PlanOutdated
from atlas.core.journal_codec import LINK_TYPES
from atlas.core.types import JournalEntry, Link
from atlas.infra.bridge import run
from atlas.infra.twin import twin
from atlas.memory.base.records import retried
from atlas.memory.base.retrieval import Row
from atlas.memory.journal.compaction import CompactPlan, Move, Subject, SummaryDraft, plan_compact
from atlas.memory.journal.context_selection import (
    EVOLUTION,
    TASK,
    TASK_GENERATION,
    Quotas,
    checked_limit,
    chosen,
    value_of,
)
from atlas.memory.journal.entries import COLLECTION, LIVE
from atlas.memory.journal.gates import ACCEPTED, GATES, REFUSED_COLLECTION, Gate, Refusals, RefusedEntry
from atlas.memory.journal.importance import SCORED, importance_of
from atlas.memory.journal.link_graph import Edge, LinkGraph, LinkSuggestion
from atlas.memory.journal.links import LinkedEntries
from atlas.memory.journal.records import SUMMARISED_AT, changed_row, from_row, instant, told_at
from atlas.memory.journal.scores import MIDDLING, SCORE, score_of
from atlas.memory.journal.summaries import Summariser
from atlas.protocols.infra import LLMClient, Progress
from atlas.storage.collection import Collection

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

BATCH = 1_000
"""Entries that are read whole at once."""

N_CONSIDERED = 200
"""Latest entries, latest summaries and most important entries, among which those of most value are looked for: so
many of each, as they come from an index, which takes no longer in a long journal."""

DIRECTIVE, SUMMARY = "directive", "summary"

BY_VALUE = (SCORED, SUMMARY)
"""The types of which contexts take the best rather than the latest: what went well is no news, nor what is past."""


class Journal(LinkedEntries):
    """The log of an agent, in a vector store.

    Each method has an async twin, with an `a` before its name, whose docstring says more.
    """

    # What to tell an agent

    def context_for_evolution(self, limit: int | None = None, *, token_budget: int | None = None) -> list[JournalEntry]:
        """What an agent should know that is about to change itself, the most urgent first.

        The latest directive, crashes, reflections and tasks, the observations of the best score and the best summary,
        so many of each; where a type has too few, or there is room for more, the entries of most value.

        Args:
            limit: Of entries; None for as many as the budget holds, or ten where there is no budget.
            token_budget: Of all texts together, roughly.
        """
        limit = checked_limit(limit, token_budget)
        pool = self._pool()
        return chosen(self._by_quota(EVOLUTION, pool), self._by_value(pool), limit, token_budget)

    acontext_for_evolution = twin(context_for_evolution)

    def context_for_task(
        self, task: str, limit: int | None = None, *, token_budget: int | None = None, count_retrieval: bool = True
    ) -> list[JournalEntry]:
        """What an agent should know at a task: the last directive, so many of each type about the task, then by value.

        Args:
            task: What it was asked.
            count_retrieval: Whether what is about it counts as retrieved; a person's looking does not.
        """
        limit = checked_limit(limit, token_budget)
        wanted = self.recent(1, self.types.counting_as(DIRECTIVE))
        for entry_type, count in TASK.items():
            where = {
                "entry_type": {"$in": self.types.counting_as(entry_type)},
                "tier": {"$in": list(LIVE)},
            }
            wanted += [
                hit.item for hit in self.retrieve(task, count, where=where, count_retrieval=count_retrieval).hits
            ]
        return chosen(wanted, self._by_value(self._pool()), limit, token_budget)

    acontext_for_task = twin(context_for_task)

    def context_for_task_generation(
        self, limit: int | None = None, *, token_budget: int | None = None
    ) -> list[JournalEntry]:
        """What an agent should know that looks for a task of its own: a summary, the latest tasks, then by value."""
        limit = checked_limit(limit, token_budget)
        pool = self._pool()
        return chosen(self._by_quota(TASK_GENERATION, pool), self._by_value(pool), limit, token_budget)

    acontext_for_task_generation = twin(context_for_task_generation)

    # Forgetting

    def plan_compact(
        self,
        keep_recent: int = 200,
        keep_types: Mapping[str, int] | None = None,
        on_progress: Progress | None = None,
    ) -> CompactPlan:
        """Who would move from hot to warm, cold or archived and why, and what would be summarised; nothing is touched.

        An entry is worth its importance × recency × use × links, with the half-life of its type. Where enough entries
        of a type and period go out of prompts, a summary is drafted: by the language model where there is one, else of
        the sentences that say most of it. Each draft says which, and why where the model should have written it.

        Args:
            keep_recent: The latest entries stay, so many, as do those that are pinned, and directives.
            keep_types: Of these types the latest so many stay as well.
            on_progress: Told after each summary how many are written, and of how many.

        Raises:
            InvalidInput: A number to keep is negative.
        """
        self._recall()
        moment = self._store.moment()
        self._store.write_retrievals()
        rows = self._store.scan(order_by="created_at", descending=True)
        subjects = self._subjects(rows)
        plan = plan_compact(
            subjects,
            self.types,
            self.embedder.encode_batch,
            self._clock.now(),
            keep_recent=keep_recent,
            keep_types=keep_types,
            moment=moment,
            on_progress=on_progress if self.llm is None else None,
        )
        if self.llm is None:
            return plan
        return replace(plan, summaries=self._told(plan.summaries, self.llm, on_progress))

    aplan_compact = twin(plan_compact)

    def check_compact(self, plan: CompactPlan) -> None:
        """Raise `PlanOutdated` where `apply_compact` would refuse: an entry has changed, is gone, or is pinned now."""
        concerned = plan.touched
        n_gone = len(set(concerned) - self._store.present(concerned))
        if n_gone:
            raise PlanOutdated(
                f"{n_gone} of the entries were deleted since this was planned; nothing was done. Plan anew"
            )
        n_pinned = sum(marks.pinned for marks in self._store.marks(concerned).values())
        if n_pinned:
            raise PlanOutdated(f"{n_pinned} of the entries are pinned now, so they stay; nothing was done. Plan anew")
        self._store.check_unchanged(concerned, plan.moment)

    acheck_compact = twin(check_compact)

    def apply_compact(self, plan: CompactPlan) -> str | None:
        """Do exactly what a plan says, as one operation; its id, for `undo`, or None where there was nothing to do.

        Raises:
            PlanOutdated: One of the entries, or its marks, has changed since; nothing was done.
        """
        if plan.is_empty:
            return None
        reason = f"{len(plan.moves)} entries moved, {len(plan.summaries)} summaries written"
        scoped = self if self.operation_id else self.within("compact", reason)
        self.check_compact(plan)
        rows = self._store.get([move.id for move in plan.moves])
        tiers = {move.id: move.to_tier for move in plan.moves}
        moved = [changed_row(row, replace(from_row(row), tier=tiers[row["id"]])) for row in rows]
        if moved:
            scoped._rewrite(moved, plan.moment, "compact", reason)
        scoped.add_entries([self._summary(draft) for draft in plan.summaries])
        return scoped.operation_id

    aapply_compact = twin(apply_compact)

    def compact(self, keep_recent: int = 200, keep_types: Mapping[str, int] | None = None) -> CompactPlan:
        """Forget what is worth least, as `plan_compact` says; what was done. Nothing goes, and `undo` takes it back."""

        def plan_and_apply() -> CompactPlan:
            plan = self.plan_compact(keep_recent, keep_types)
            self.apply_compact(plan)
            return plan

        return retried(plan_and_apply)

    acompact = twin(compact)

    def _told(
        self, drafts: Sequence[SummaryDraft], llm: LLMClient, on_progress: Progress | None
    ) -> tuple[SummaryDraft, ...]:
        """The drafts, as far as a language model writes them."""
        sources = [self.get_many(draft.source_ids) for draft in drafts]
        return run(Summariser(llm).written_all(drafts, sources, on_progress))

    def _subjects(self, rows: Sequence[Row]) -> list[Subject]:
        """What forgetting has to know of entries, in their order; of their vectors nothing."""
        ids = [row["id"] for row in rows]
        usage, marks = self._store.usage(ids), self._store.marks(ids)
        linking = Counter(
            target for row in rows for name in LINK_TYPES if name != "summarises" for target in _targets(row, name)
        )
        entries = [e for start in range(0, len(ids), BATCH) for e in self.get_many(ids[start : start + BATCH])]
        summaries = _summary_of_each(entries)
        return [
            Subject(
                entry=entry,
                usage=usage[entry.id],
                is_pinned=marks[entry.id].pinned,
                n_linking=linking[entry.id],
                summary=summaries.get(entry.id),
            )
            for entry in entries
        ]

    def _summary(self, draft: SummaryDraft) -> JournalEntry:
        """The entry that stands for others, in the log where the last of them is."""
        [last] = self.get_many(draft.source_ids[-1:])
        return JournalEntry(
            id=_summary_id(draft),
            entry_type=SUMMARY,
            content=draft.content,
            generation=draft.last_generation,
            created_at=last.created_at,
            importance=importance_of(self.types[SUMMARY], draft.content),
            metadata={
                "of_type": draft.entry_type,
                "first_generation": draft.first_generation,
                "last_generation": draft.last_generation,
                "written_by": draft.written_by,
                SUMMARISED_AT: instant(self._clock.now()),
                **({"not_by_model": draft.problem} if draft.problem else {}),
            },
            links=tuple(Link("summarises", source_id) for source_id in draft.source_ids),
        )

    def _by_quota(self, quotas: Quotas, pool: Sequence[JournalEntry]) -> list[JournalEntry]:
        """The latest of each type, of summaries those of most value, and of observations those of the best score."""
        wanted: list[JournalEntry] = []
        for name, count in quotas.items():
            names = self.types.counting_as(name)
            if name not in BY_VALUE:
                wanted += self.recent(count, names)
                continue
            known = [*pool, *self._scored()] if name == SCORED else pool
            best = self._by_value([entry for entry in known if entry.entry_type in names])
            best = sorted(best, key=_score, reverse=True) if name == SCORED else best
            wanted += list({entry.id: entry for entry in best}.values())[:count]
        return wanted

    def _scored(self) -> list[JournalEntry]:
        """Observations of the best scores, however long ago they were written."""
        types, tiers = self.types.counting_as(SCORED), list(LIVE)
        where = {"entry_type": {"$in": types}, "tier": {"$in": tiers}, SCORE: {"$gt": MIDDLING}}
        rows = self._store.scan(where, order_by=SCORE, descending=True, limit=N_CONSIDERED)
        buried = self._buried()
        found = self.get_many([row["id"] for row in rows if row["id"] not in buried])
        return [entry for entry in found if entry.tier in LIVE]  # a plain store may know no filters

    def _pool(self) -> list[JournalEntry]:
        """Among which entries those of most value are looked for; summaries are as far back as what they stand for."""
        latest = [*self.recent(N_CONSIDERED), *self.recent(N_CONSIDERED, [SUMMARY])]
        rows = self._store.scan(order_by="importance", descending=True, limit=N_CONSIDERED)
        buried = self._buried()
        live = [row["id"] for row in rows if row["metadata"]["tier"] in LIVE and row["id"] not in buried]
        important = self.get_many(live)
        return list({entry.id: entry for entry in [*latest, *important]}.values())

    def _by_value(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        usage, now = self._usage_of(entries), self._clock.now()
        return sorted(entries, key=lambda entry: -value_of(entry, usage[entry.id], self.types, now))

    def _over(self, store: Collection) -> Self:
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


def _score(entry: JournalEntry) -> float:
    score = score_of(entry.content, entry.metadata)
    return MIDDLING if score is None else score


def _summary_id(draft: SummaryDraft) -> str:
    """The same for all summaries of the same entries, so that processes which compact at once write one."""
    return hashlib.sha256(dump(["summary", *draft.source_ids]).encode()).hexdigest()[:32]


def _summary_of_each(entries: Sequence[JournalEntry]) -> dict[str, JournalEntry]:
    """By the id of an entry, the latest of those that stand for it."""
    return {link.target_id: e for e in sorted(entries, key=told_at) for link in e.links if link.type == "summarises"}


def _targets(row: Row, link_type: str) -> Sequence[str]:
    held: Sequence[str] = row["metadata"].get(link_type, ())
    return held
