"""Deleting and compacting journal entries, as plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atlas.core.journal_codec import LINK_TYPES, TIERS
from atlas.memory.journal import CompactPlan, Eviction, Move, SummaryDraft
from atlas.memory.journal.summaries import EXTRACTION
from atlas.memory.system import MemorySystem
from atlas.views.journal.list import EntryRow, light_rows
from atlas.views.kinds.journal import JOURNAL
from atlas.views.kinds.journal_words import state_word
from atlas.views.shared.plans import Figure, PlanRow, PlanView, deleting_view, gone_notes
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted, percent

PICKED = "Sentences picked from its entries"


def delete_view(memory: MemorySystem, ids: Sequence[str]) -> PlanView:
    """Return the view of a plan that deletes entries. Entries that are already deleted are left out."""
    titles = memory.journal.titles(ids)
    deleted_titles = {entry_id: titles[entry_id] for entry_id in ids if entry_id in titles}
    links_to_them = {"$or": [{link_type: {"$in": list(deleted_titles)}} for link_type in LINK_TYPES]}
    linking = light_rows(
        memory, [row for row in memory.journal.browse(links_to_them) if row["id"] not in deleted_titles]
    )
    return _delete_view(deleted_titles, linking, memory.journal.count(), len(ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactRequest:
    """A request to apply a plan of entries to forget."""

    plan: CompactPlan

    def keep_records(self, ids: Sequence[str]) -> CompactRequest:
        """Return a request for the same plan, in which these entries stay."""
        return CompactRequest(plan=self.plan.keep_records(ids))

    def propose(self, memory: MemorySystem) -> CompactProposal:
        """Return the plan, which is unchanged except for the measured loss.

        Raises:
            PlanOutdated: An entry has changed since.
        """
        memory.journal.check_compact(self.plan)
        plan, drafts = memory.with_loss(self.plan), self.plan.summaries
        titles = memory.journal.titles([source for draft in drafts for source in draft.source_ids])
        return CompactProposal(
            plan=plan,
            view=replace(_archiving_view(plan, tier_sizes(memory)), loss=plan.loss),
            summaries=tuple(_summary_view(draft, titles) for draft in drafts),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView:
    """A summary that would be written."""

    headline: str
    """Contains no text of entries."""

    origin: str
    """The author of the summary. Untrusted text, because it may be the name of a model."""

    content: Text
    sources: tuple[str, ...]
    """The beginnings of the entries that it summarises, which are untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactProposal:
    """The preview of a compaction."""

    plan: CompactPlan
    view: PlanView
    summaries: tuple[SummaryView, ...]

    @property
    def removed_ids(self) -> tuple[str, ...]:
        """The ids of the entries that a cap deletes."""
        return tuple(eviction.id for eviction in self.plan.evictions)

    @property
    def done_sentence(self) -> str:
        """`Moved 827 entries, deleted 40 entries, wrote 11 summaries`."""
        return _archiving_sentence(self.plan, "moved", "deleted", "wrote")

    def apply(self, memory: MemorySystem) -> str | None:
        """Apply the compaction as one operation and return its id.

        Raises:
            PlanOutdated: An entry has changed since the plan was made. Nothing was applied.
        """
        return memory.journal.apply_compact(self.plan)


def tier_sizes(memory: MemorySystem) -> dict[str, int]:
    """Return how many entries each tier has, from hot to archived."""
    sizes = memory.journal.values("tier")
    return {tier: sizes.get(tier, 0) for tier in TIERS}


def _delete_view(titles: Mapping[str, str], linking: Sequence[EntryRow], n_total: int, n_asked: int) -> PlanView:
    notes = [*gone_notes(n_asked - len(titles))]
    if linking:
        verb = "links" if len(linking) == 1 else "link"
        notes.append(f"{counted(len(linking), 'entry')} {verb} to deleted entries. An undo restores these links.")
    rows = [
        *(PlanRow(id=entry_id, title=title, goes=True, why="chosen") for entry_id, title in titles.items()),
        *(PlanRow(id=row.id, title=row.content, goes=False, why="links to a deleted entry") for row in linking),
    ]
    return deleting_view(rows, JOURNAL.noun, n_total, caption="What is deleted, and what links to it", notes=notes)


def _archiving_view(plan: CompactPlan, before: Mapping[str, int]) -> PlanView:
    return PlanView(
        title="Archive old entries",
        headline=compact_headline(plan),
        button=_archiving_sentence(plan, "move", "delete", "write"),
        notes=(
            *filter(None, [plan.cap_problem]),
            "Entries that are search only no longer go into prompts. Archived ones are found only on request.",
            *(f"A summary was not written by the model: {problem}" for problem in plan.problems),
        ),
        rows=(*map(_evicted_row, plan.evictions), *map(_move_row, plan.moves)),
        subject=JOURNAL.noun.capitalize(),
        caption="Which entries would go or move, and why",
        figures=_tier_figures(plan, before),
        n_going=len(plan.moves) + len(plan.evictions),
        share=_share(len(plan.moves) + len(plan.evictions), plan.n_total),
    )


def _archiving_sentence(plan: CompactPlan, move: str, delete: str, write: str) -> str:
    """Return `Move 827 entries, delete 40 entries, write 11 summaries`, without parts that are zero."""
    parts = (
        (move, plan.moves, JOURNAL.noun),
        (delete, plan.evictions, JOURNAL.noun),
        (write, plan.summaries, "summary"),
    )
    return ", ".join(f"{verb} {counted(len(items), noun)}" for verb, items, noun in parts if items).capitalize()


def _tier_figures(plan: CompactPlan, before: Mapping[str, int]) -> tuple[Figure, ...]:
    """Return the size of each tier before and after."""
    after = dict(before)
    for move in plan.moves:
        after[move.from_tier] -= 1
        after[move.to_tier] += 1
    for eviction in plan.evictions:
        after[eviction.tier] -= 1
    after[TIERS[0]] += len(plan.summaries)
    return tuple(Figure(state_word(tier).capitalize(), f"{after[tier]:,}", f"{before[tier]:,}") for tier in TIERS)


def compact_headline(plan: CompactPlan) -> str:
    """Return the effect of compacting, in a sentence that contains no text of an entry."""
    if plan.is_empty:
        return f"Nothing to forget: {_all_stay(plan.n_total)}"
    share = _share(len(plan.moves), plan.n_total)
    moving = f"{len(plan.moves):,} of {counted(plan.n_total, 'entry')} would move ({percent(share)})"
    deleted = f", {len(plan.evictions):,} would be deleted" if plan.evictions else ""
    written = f", {counted(len(plan.summaries), 'summary')} would be written" if plan.summaries else ""
    return f"{moving}{deleted}{written}.{'' if plan.evictions else ' Nothing is deleted.'}"


def _all_stay(n_entries: int) -> str:
    return "the one entry stays where it is." if n_entries == 1 else f"all {n_entries:,} entries stay where they are."


def _share(n_moved: int, n_total: int) -> float:
    return n_moved / n_total if n_total else 0.0


def kept_sentences(plan: CompactPlan) -> tuple[tuple[str, int], ...]:
    """Return why entries would stay, and how many for each reason, most first. Untrusted text."""
    return tuple(sorted(plan.kept.items(), key=lambda item: -item[1]))


def _evicted_row(eviction: Eviction) -> PlanRow:
    reason = f"{state_word(eviction.tier)} → deleted: {eviction.reason}"
    return PlanRow(id=eviction.id, title=eviction.title, goes=True, why=reason)


def _move_row(move: Move) -> PlanRow:
    return PlanRow(
        id=move.id,
        title=move.title,
        goes=True,
        why=f"{state_word(move.from_tier)} → {state_word(move.to_tier)}: {move.reason}",
    )


def _summary_view(draft: SummaryDraft, titles: Mapping[str, str]) -> SummaryView:
    return SummaryView(
        headline=(
            f"Rounds {draft.first_generation:,} to {draft.last_generation:,}: "
            f"one summary of {counted(len(draft.source_ids), 'entry')}"
        ),
        origin=PICKED if draft.written_by == EXTRACTION else f"Written by {draft.written_by}",
        content=Text(draft.content),
        sources=tuple(titles[source] for source in draft.source_ids if source in titles),
    )
