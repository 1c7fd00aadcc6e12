"""Deleting and forgetting journal entries as proposed to a person: what would happen, and doing exactly that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atlas.core.journal_codec import LINK_TYPES, TIERS
from atlas.memory.journal import CompactPlan, Move, SummaryDraft
from atlas.memory.journal.summaries import EXTRACTION
from atlas.memory.system import MemorySystem
from atlas.views.journal.list import EntryRow, light_rows
from atlas.views.shared.kinds import JOURNAL
from atlas.views.shared.plans import PlanRow, PlanView, deleting_view, gone_notes
from atlas.views.shared.removals import Removal
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted

PICKED = "Sentences picked from its entries"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDeleteRequest:
    """Entries that a person wants deleted."""

    ids: tuple[str, ...]

    kind = JOURNAL
    verb = "Delete"
    subject = "Entry"
    caption = "What goes, and what links to it"

    def propose(self, memory: MemorySystem) -> Removal:
        """What it would do now; what is gone meanwhile is left out."""
        titles, n_total = memory.journal.titles(self.ids), memory.journal.count()
        going = tuple(entry_id for entry_id in self.ids if entry_id in titles)
        naming = {"$or": [{name: {"$in": list(going)}} for name in LINK_TYPES]}
        linking = light_rows(memory, [row for row in memory.journal.browse(naming) if row["id"] not in titles])
        view = _delete_view(titles, linking, n_total, len(self.ids))
        return Removal(request=self, view=view, going=going, n_before=n_total)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactRequest:
    """A plan of what to forget that a person wants applied."""

    plan: CompactPlan

    verb = "Compact"
    subject = "Entry"
    caption = "Who would move where, and why"

    def propose(self, memory: MemorySystem) -> CompactProposal:
        """What it would do, which is what it would have done when it was made.

        Raises:
            PlanOutdated: One of the entries has changed since.
        """
        memory.journal.check_compact(self.plan)
        drafts = self.plan.summaries
        titles = memory.journal.titles([source for draft in drafts for source in draft.source_ids])
        return CompactProposal(
            request=self,
            plan=self.plan,
            view=_compact_view(self.plan),
            summaries=tuple(_summary_view(draft, titles) for draft in drafts),
            before=tier_sizes(memory),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView:
    """A summary that would be written."""

    headline: str
    """Holds nothing that entries hold."""

    origin: str
    """Where its words come from: untrusted text, for it may name a model."""

    content: Text
    sources: tuple[str, ...]
    """The beginnings of what it stands for: untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactProposal:
    """A compaction, and all that a person should see of it before it is applied."""

    request: CompactRequest
    plan: CompactPlan
    view: PlanView
    summaries: tuple[SummaryView, ...]
    before: Mapping[str, int]
    """How many entries each tier has now."""

    @property
    def going(self) -> tuple[str, ...]:
        """The ids of what would move or be summarised; nothing is deleted."""
        return self.plan.touched

    @property
    def button(self) -> str:
        """What applying it is called: `Move 827 entries, write 11 summaries`."""
        said = [f"Move {counted(len(self.plan.moves), 'entry')}"] if self.plan.moves else []
        if self.summaries:
            said.append(f"{'write' if said else 'Write'} {counted(len(self.summaries), 'summary')}")
        return ", ".join(said)

    @property
    def effect(self) -> tuple[tuple[str, str, str], ...]:
        """Each tier's size as it would be, and as it is."""
        after = dict(self.before)
        for move in self.plan.moves:
            after[move.from_tier] -= 1
            after[move.to_tier] += 1
        after[TIERS[0]] += len(self.summaries)
        return tuple((tier.capitalize(), f"{after[tier]:,}", f"from {self.before[tier]:,}") for tier in TIERS)

    def apply(self, memory: MemorySystem) -> tuple[str, str]:
        """Do exactly this; the operation's id, and what was done in words of our own.

        Raises:
            PlanOutdated: One of the entries has changed since; nothing was done.
        """
        operation_id = memory.journal.apply_compact(self.plan)
        done = self.button.replace("Move", "Moved", 1).replace("Write", "Wrote", 1).replace("write", "wrote", 1)
        return str(operation_id), done


def tier_sizes(memory: MemorySystem) -> dict[str, int]:
    """How many entries each tier has, from hot to archived."""
    sizes = memory.journal.values("tier")
    return {tier: sizes.get(tier, 0) for tier in TIERS}


def _delete_view(titles: Mapping[str, str], linking: Sequence[EntryRow], n_total: int, n_asked: int) -> PlanView:
    notes = [*gone_notes(n_asked - len(titles))]
    if linking:
        verb = "links" if len(linking) == 1 else "link"
        notes.append(f"{counted(len(linking), 'entry')} {verb} to what would go; undoing it brings these links back.")
    rows = [
        *(PlanRow(id=one, title=title, goes=True, why="chosen") for one, title in titles.items()),
        *(PlanRow(id=row.id, title=row.content, goes=False, why="links to what goes") for row in linking),
    ]
    return deleting_view(rows, "entry", n_total, notes)


def _compact_view(plan: CompactPlan) -> PlanView:
    return PlanView(
        headline=compact_headline(plan),
        notes=(
            "Cold entries leave the prompts but are found; archived ones are found only when asked for.",
            *(f"A summary is not the model's: {problem}" for problem in plan.problems),
        ),
        rows=tuple(_row(move) for move in plan.moves),
        n_going=len(plan.moves),
        share=_share_moving(plan),
    )


def compact_headline(plan: CompactPlan) -> str:
    """What compacting would do; holds nothing that entries hold."""
    if plan.is_empty:
        return f"Nothing to forget: {_all_stay(plan.n_total)}"
    moving = f"{len(plan.moves):,} of {counted(plan.n_total, 'entry')} would move ({_share_moving(plan):.1%})"
    written = f", {counted(len(plan.summaries), 'summary')} would be written" if plan.summaries else ""
    return f"{moving}{written}. Nothing is deleted."


def _all_stay(n: int) -> str:
    return "the one entry stays where it is." if n == 1 else f"all {n:,} entries stay where they are."


def _share_moving(plan: CompactPlan) -> float:
    return len(plan.moves) / plan.n_total if plan.n_total else 0.0


def kept_sentences(plan: CompactPlan) -> tuple[tuple[str, int], ...]:
    """Why entries would stay, and how many for each reason, most first. A reason may name a type: untrusted text."""
    return tuple(sorted(plan.kept.items(), key=lambda item: -item[1]))


def _row(move: Move) -> PlanRow:
    return PlanRow(
        id=move.id,
        title=move.title,
        goes=True,
        why=f"{move.from_tier} → {move.to_tier}: {move.reason}",
    )


def _summary_view(draft: SummaryDraft, titles: Mapping[str, str]) -> SummaryView:
    return SummaryView(
        headline=(
            f"Generations {draft.first_generation:,} to {draft.last_generation:,}: "
            f"one summary of {counted(len(draft.source_ids), 'entry')}"
        ),
        origin=PICKED if draft.written_by == EXTRACTION else f"Written by {draft.written_by}",
        content=Text(draft.content),
        sources=tuple(titles[source] for source in draft.source_ids if source in titles),
    )
