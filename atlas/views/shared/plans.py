"""Plans in the words that the command line and the pages share: what would go, what would stay, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.memory.base.merging import GroupsPlan
from atlas.memory.experience.merging import MergeGroup, MergePlan
from atlas.memory.experience.pruning import PruneDecision, PrunePlan
from atlas.memory.experience.refinement_plan import RefinePlan
from atlas.views.shared.wording import counted

TYPED_SHARE = 0.05
"""From over this share of the store on, a person types the count before a plan is applied."""

MISSING = {
    "min_success_rate": ("no known outcome", "the success rate does not judge"),
    "max_age_days": ("no known time", "the age does not judge"),
    "never_retrieved_days": ("no known time of storing", "not being retrieved does not judge"),
    "max_count": ("no known time", "the number to keep does not judge"),
}
"""By criterion, what it lacks, and what follows for the records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One record of a plan. Title and reason may hold what memories hold."""

    id: str
    title: str
    goes: bool
    why: str
    """Why it goes, or why it stays nevertheless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """A plan as it is shown before it is applied."""

    headline: str
    """Holds nothing that memories hold, as do the notes."""

    notes: tuple[str, ...]
    """What the plan could not judge, or did not find."""

    rows: tuple[PlanRow, ...]
    """In pruning, those that go first; in merging, each kept one before those that it takes the place of."""

    n_going: int
    share: float
    """The share of the store that would go, in [0, 1]."""

    @property
    def is_large(self) -> bool:
        """Whether so much would go that a person should type the count."""
        return self.share > TYPED_SHARE


def prune_plan_view(plan: PrunePlan) -> PlanView:
    """What pruning would do."""
    n_going, n_saved = len(plan.removals), len(plan.saved)
    saved = f"{n_saved:,} {'is' if n_saved == 1 else 'are'} saved"
    return PlanView(
        headline=f"{n_going:,} of {counted(plan.n_total, 'experience')} would go ({plan.share:.1%}), {saved}.",
        notes=tuple(_prune_notes(plan)),
        rows=tuple(_prune_row(decision) for decision in (*plan.removals, *plan.saved)),
        n_going=n_going,
        share=plan.share,
    )


def merge_plan_view(plan: MergePlan, n_gone: int = 0) -> PlanView:
    """What merging would do.

    Args:
        n_gone: How many of those chosen are not in the store any more.
    """
    rows = (row for group in plan.groups for row in _merge_rows(group))
    return merging_view(plan, "experience", rows, gone_notes(n_gone))


def merging_view(plan: GroupsPlan[Any], noun: str, rows: Iterable[PlanRow], notes: Sequence[str]) -> PlanView:
    """What making one record of each of a plan's groups would do.

    Args:
        noun: What one of the records is called.
        rows: Each kept one before those that it takes the place of.
    """
    n_kept = len(plan.groups)
    becoming = f"{counted(plan.n_removed + n_kept, noun)} would become {n_kept:,}"
    return PlanView(
        headline=f"{becoming}: {plan.n_removed:,} of {plan.n_total:,} would go ({plan.share:.1%}).",
        notes=tuple(notes),
        rows=tuple(rows),
        n_going=plan.n_removed,
        share=plan.share,
    )


def deleting_view(rows: Iterable[PlanRow], noun: str, n_total: int, notes: Sequence[str]) -> PlanView:
    """What deleting records would do.

    Args:
        rows: What goes, then what stays and would be changed by that.
        noun: What one of the records is called.
        n_total: How many of them there are.
    """
    rows = tuple(rows)
    n_going = sum(row.goes for row in rows)
    share = n_going / n_total if n_total else 0.0
    return PlanView(
        headline=f"{n_going:,} of {counted(n_total, noun)} would go ({share:.1%}).",
        notes=tuple(notes),
        rows=rows,
        n_going=n_going,
        share=share,
    )


def refine_plan_view(plan: RefinePlan) -> PlanView:
    """What applying a refinement would do: what goes, each with the reason; what stays as it is has no row."""
    merged, dropped = len(plan.merged), len(plan.dropped)
    return PlanView(
        headline=(
            f"{merged:,} would be merged into others and {dropped:,} dropped: "
            f"{len(plan.going):,} of {counted(plan.n_total, 'experience')} would go ({plan.share:.1%})."
        ),
        notes=(),
        rows=tuple(_refine_rows(plan)),
        n_going=len(plan.going),
        share=plan.share,
    )


def _refine_rows(plan: RefinePlan) -> Iterator[PlanRow]:
    """What is dropped, then each kept one before those that it takes the place of."""
    by_id = {decision.id: decision for decision in plan.decisions}
    for one in plan.dropped:
        yield PlanRow(id=one.id, title=one.title, goes=True, why=f"dropped, {one.outcome}: {one.reason}")
    for kept, *others in plan.groups:
        stays = by_id[kept]
        yield PlanRow(id=kept, title=stays.title, goes=False, why=f"stays, {stays.outcome}: {stays.reason}")
        for one in (by_id[other] for other in others):
            why = f"merged into {kept[:8]}, {one.outcome}: {one.reason}"
            yield PlanRow(id=one.id, title=one.title, goes=True, why=why)


def _prune_notes(plan: PrunePlan) -> Iterator[str]:
    if plan.n_judged != plan.n_total:
        yield f"Only the {plan.n_judged:,} chosen were considered."
    yield from gone_notes(plan.n_gone)
    for criterion, count in plan.missing.items():
        lack, so = MISSING[criterion]
        one = count == 1
        yield f"{count:,} {'has' if one else 'have'} {lack}, so {so} {'it' if one else 'them'}."


def gone_notes(n_gone: int) -> tuple[str, ...]:
    """How many of those that were chosen are gone; nothing where none is."""
    return (f"{n_gone:,} of those chosen {'is' if n_gone == 1 else 'are'} not there any more.",) if n_gone else ()


def _prune_row(decision: PruneDecision) -> PlanRow:
    why = "; ".join(decision.reasons)
    if decision.saved_because:
        why += f"; saved: {decision.saved_because}"
    return PlanRow(id=decision.id, title=decision.title, goes=not decision.saved_because, why=why)


def _merge_rows(group: MergeGroup) -> Iterator[PlanRow]:
    outcomes = group.merged.metadata["merged_outcomes"]
    stands_for = ", ".join(f"{count} {label}" for label, count in outcomes.items())
    yield PlanRow(
        id=group.kept_id, title=group.kept_title, goes=False, why=f"stays: {group.why_kept}; stands for {stands_for}"
    )
    for away in group.removed:
        yield PlanRow(id=away.id, title=away.title, goes=True, why=f"{away.outcome}; into {group.kept_id[:8]}")
