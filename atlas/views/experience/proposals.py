"""Pruning, merging and refining experiences, as plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from atlas.core.statistics import SuccessRate
from atlas.memory.effects.withdrawal import count_learned
from atlas.memory.experience.pruning import PrunePlan
from atlas.memory.experience.refinement.plan import RefinePlan
from atlas.memory.kinds.table import known_kinds
from atlas.memory.loss import reason_with_loss
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.experience.plan_views import has_rule, merge_plan_view, prune_plan_view, refine_plan_view, refine_words
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.shared.plans import N_FIGURE, RATE_FIGURE, Figure, PlanRow, PlanView
from atlas.views.shared.rates import rate_line, rate_of_rest, rate_text
from atlas.views.shared.removals import MergeProposal
from atlas.views.shared.retirement import RetireRequest
from atlas.views.shared.wording import counted, in_words

KEEP_DIVERSE = "keep_diverse"


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRequest:
    """Criteria of a prune request."""

    criteria: Mapping[str, Any] = field(default_factory=dict)
    """As arguments of `plan_prune`."""

    among: tuple[str, ...] | None = None
    """Ids of the only experiences that may be deleted, None for the whole store. Without a criterion, all are."""

    kept: tuple[str, ...] = ()
    """Ids of experiences that stay."""

    def keep_records(self, ids: Sequence[str]) -> PruneRequest:
        """Return the request with further experiences to keep."""
        return replace(self, kept=(*self.kept, *ids))

    def retire_instead(self, ids: Sequence[str]) -> RetireRequest:
        """Return the request to retire these experiences."""
        return RetireRequest(EXPERIENCE, tuple(ids))

    def propose(self, memory: MemorySystem) -> PruneProposal:
        """Return the current plan, measured."""
        plan = memory.with_loss(memory.experience.plan_prune(self.criteria, self.among, self.kept))
        removed_ids = tuple(decision.id for decision in plan.removals)
        view = _with_figures(memory, prune_plan_view(plan, self.kept), removed_ids)
        view = replace(
            view, rows=_rows_with_times(memory, view.rows), notes=(*_learned_notes(memory, removed_ids), *view.notes)
        )
        return PruneProposal(plan=plan, view=view, removed_ids=removed_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneProposal:
    """Experiences that would be pruned by a rule, or deleted because a person chose them."""

    plan: PrunePlan
    view: PlanView
    removed_ids: tuple[str, ...]

    @property
    def done_sentence(self) -> str:
        """`Deleted 9 experiences`, or `Deleted 9 experiences by a rule`."""
        return f"Deleted {counted(len(self.removed_ids), EXPERIENCE.noun)}{' by a rule' if has_rule(self.plan) else ''}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Apply the plan as one operation, and return its id.

        Raises:
            PlanOutdated: The store has changed since the plan was made. Nothing was applied.
        """
        plan = self.plan
        kind, reason = ("prune", plan.reason) if has_rule(plan) else ("delete", reason_with_loss("", plan.loss))
        scoped = memory.experience.as_operation(kind, reason)
        scoped.apply_prune(plan)
        return scoped.operation_id


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """Groups to merge, each into its best attempt."""

    groups: tuple[tuple[str, ...], ...]

    def keep_records(self, ids: Sequence[str]) -> MergeRequest:
        """Return the same request without these experiences, and without groups of a single one."""
        groups = (tuple(record_id for record_id in group if record_id not in ids) for group in self.groups)
        return MergeRequest(groups=tuple(group for group in groups if len(group) > 1))

    def propose(self, memory: MemorySystem) -> MergeProposal:
        """Return the current plan with its measured loss, without deleted experiences.

        Raises:
            InvalidInput: No group has two experiences left.
        """
        chosen = {record_id for group in self.groups for record_id in group}
        existing = set(memory.experience.ids({"id": {"$in": list(chosen)}}))
        left = [[record_id for record_id in group if record_id in existing] for group in self.groups]
        plan = memory.with_loss(memory.experience.plan_merge([group for group in left if len(group) > 1] or left[:1]))
        proposal = MergeProposal(kind=EXPERIENCE, plan=plan, view=merge_plan_view(plan, len(chosen - existing)))
        return replace(proposal, view=_with_figures(memory, proposal.view, proposal.removed_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineRequest:
    """A refinement plan to apply."""

    plan: RefinePlan

    def keep_records(self, ids: Sequence[str]) -> RefineRequest:
        """Return a request for the same plan, in which these experiences stay."""
        return RefineRequest(plan=self.plan.keep_records(ids))

    def propose(self, memory: MemorySystem) -> RefineProposal:
        """Return the plan, which is unchanged except for the measured loss.

        Raises:
            PlanOutdated: An experience that it touches has changed since.
        """
        memory.experience.check_refine(self.plan)
        plan = memory.with_loss(self.plan)
        return RefineProposal(plan=plan, view=_with_figures(memory, refine_plan_view(plan), plan.removed_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineProposal:
    """Experiences that would be merged or dropped, as a judge decided."""

    plan: RefinePlan
    view: PlanView

    @property
    def removed_ids(self) -> tuple[str, ...]:
        """The ids of the experiences that would be merged or dropped."""
        return self.plan.removed_ids

    @property
    def done_sentence(self) -> str:
        """`Refined: 3 merged, 2 dropped`."""
        return f"Refined: {refine_words(self.plan)}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Apply the plan (merges and drops) as one operation, and return its id.

        Raises:
            PlanOutdated: The store has changed since the plan was made. Nothing was applied.
        """
        scoped = memory.experience.as_operation("refine", self.plan.reason)
        scoped.apply_refine(self.plan)
        return scoped.operation_id


def criteria_of(
    *,
    min_percent: float | None,
    max_age_days: float | None,
    never_retrieved_days: float | None,
    max_count: int | None,
    keep_diverse: bool,
) -> dict[str, Any]:
    """Return the criteria of a form without empty values, empty if only diversity is chosen.

    Args:
        min_percent: Lowest success rate to keep, in [0, 100].
        max_age_days: Older attempts are removed.
        never_retrieved_days: Attempts that were not retrieved for that number of days are removed.
        max_count: How many to keep.
        keep_diverse: Whether the best of each group of similar experiences stays.
    """
    values = {
        "min_success_rate": None if min_percent is None else min_percent / 100,
        "max_age_days": max_age_days,
        "never_retrieved_days": never_retrieved_days,
        "max_count": max_count,
    }
    criteria = {name: value for name, value in values.items() if value is not None}
    return {**criteria, KEEP_DIVERSE: True} if criteria and keep_diverse else criteria


def _rows_with_times(memory: MemorySystem, rows: Sequence[PlanRow]) -> tuple[PlanRow, ...]:
    """Return the rows completed with the times of their attempts."""
    times = memory.experience.column("created_at", {"id": {"$in": [row.id for row in rows]}})
    return tuple(replace(row, at=stored_instant(times, row.id)) if row.id in times else row for row in rows)


def _learned_notes(memory: MemorySystem, removed_ids: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence on what was learned from these experiences, or nothing in a store without anything learned."""
    if not removed_ids or not memory.strategies.count() + memory.concepts.count():
        return ()
    counts = count_learned(memory, removed_ids)
    counted_kinds = [counted(n, kind.noun) for name, kind in known_kinds().items() if (n := counts.get(name, 0))]
    if not counted_kinds:
        return ("No strategy and no concept was learned from these.",)
    verb, stay_verb = ("was", "stays") if sum(counts.values()) == 1 else ("were", "stay")
    return (f"{in_words(counted_kinds)} {verb} learned from these, and {stay_verb}.",)


def _with_figures(memory: MemorySystem, view: PlanView, removed_ids: Sequence[str]) -> PlanView:
    """Return the view with the number and success rate of the remaining experiences. Unchanged if all remain."""
    if not removed_ids:
        return view
    n_by_outcome = memory.experience.values("outcome")
    n_removed = memory.experience.values("outcome", {"id": {"$in": list(removed_ids)}})
    old = SuccessRate.of(n_by_outcome)
    new = SuccessRate.of({outcome: n - n_removed.get(outcome, 0) for outcome, n in n_by_outcome.items()})
    figures = (
        Figure(N_FIGURE, f"{new.n:,}", f"{old.n:,}"),
        Figure(RATE_FIGURE, rate_of_rest(new), rate_line(old)),
    )
    return replace(view, figures=figures, notes=(*_rate_notes(old, new), *view.notes))


def _rate_notes(old: SuccessRate, new: SuccessRate) -> tuple[str, ...]:
    """Return a sentence on why the success rate changes, or nothing if its text stays the same."""
    if old.share is None or new.share is None or rate_text(old) == rate_text(new):
        return ()
    if new.share > old.share:
        return ("The rate rises because failures are deleted, not because the agent improved.",)
    return ("The rate falls because successes are deleted, not because the agent got worse.",)
