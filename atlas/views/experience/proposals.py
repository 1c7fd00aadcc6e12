"""Pruning and merging as they are proposed to a person: what is asked for, what it would do, and doing exactly that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from atlas.core.statistics import SuccessRate
from atlas.memory.experience.merging import MergePlan
from atlas.memory.experience.pruning import PrunePlan
from atlas.memory.experience.refinement_plan import RefinePlan
from atlas.memory.system import MemorySystem
from atlas.views.shared.plans import PlanView, merge_plan_view, prune_plan_view, refine_plan_view
from atlas.views.shared.rates import rate_text
from atlas.views.shared.wording import counted

KEEP_DIVERSE = "keep_diverse"
DONE = {"Prune": "Pruned", "Merge": "Merged", "Refine:": "Refined:"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRequest:
    """What a person wants pruned."""

    criteria: Mapping[str, Any] = field(default_factory=dict)
    """As `plan_prune` takes them."""

    among: tuple[str, ...] | None = None
    """Only these may go; without a criterion all of them do. None is the whole store."""

    verb = "Prune"
    subject = "Task"
    caption = ""
    """Of one table of all that the plan has rows for; empty for a table of what goes and one of what is saved."""

    @property
    def is_choice(self) -> bool:
        """Whether a person chose what goes, and no criterion does."""
        return self.among is not None and not {*self.criteria} - {KEEP_DIVERSE}

    @property
    def is_diverse(self) -> bool:
        """Whether the best of each neighbourhood is saved."""
        return bool(self.criteria.get(KEEP_DIVERSE))

    def with_diversity(self, is_kept: bool) -> PruneRequest:
        """The same, with the best of each neighbourhood saved or not."""
        return replace(self, criteria={**self.criteria, KEEP_DIVERSE: is_kept})

    def propose(self, memory: MemorySystem) -> Proposal:
        """What it would do now."""
        plan = memory.experience.plan_prune(self.criteria, self.among)
        going = tuple(decision.id for decision in plan.removals)
        return _proposal(memory, self, plan, prune_plan_view(plan), going)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """Groups that a person wants merged, each into its best attempt."""

    groups: tuple[tuple[str, ...], ...]

    verb = "Merge"
    subject = "Task"
    caption = "What is merged, each kept one first"

    def propose(self, memory: MemorySystem) -> Proposal:
        """What it would do now; what is gone meanwhile is left out.

        Raises:
            InvalidInput: No group has two experiences left.
        """
        chosen = {record_id for group in self.groups for record_id in group}
        there = set(memory.experience.ids({"id": {"$in": list(chosen)}}))
        left = [[record_id for record_id in group if record_id in there] for group in self.groups]
        groups = [group for group in left if len(group) > 1] or left[:1]
        plan = memory.experience.plan_merge(groups)
        going = tuple(away.id for group in plan.groups for away in group.removed)
        return _proposal(memory, self, plan, merge_plan_view(plan, len(chosen - there)), going)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineRequest:
    """A plan for refining that a person wants applied."""

    plan: RefinePlan

    verb = "Refine"
    subject = "Task"
    caption = "What goes, and what it is merged into"

    def propose(self, memory: MemorySystem) -> Proposal:
        """What it would do, which is what it would have done when it was made.

        Raises:
            PlanOutdated: An experience that it touches has changed since.
        """
        memory.experience.check_refine(self.plan)
        return _proposal(memory, self, self.plan, refine_plan_view(self.plan), self.plan.going)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A plan, and all that a person should see of it before it is applied."""

    request: PruneRequest | MergeRequest | RefineRequest
    plan: PrunePlan | MergePlan | RefinePlan
    view: PlanView
    going: tuple[str, ...]
    """The ids of what would go."""

    before: SuccessRate
    after: SuccessRate

    @property
    def button(self) -> str:
        """What applying it is called: `Prune 9 experiences`."""
        if isinstance(self.plan, MergePlan):
            n_merged = self.plan.n_removed + len(self.plan.groups)
            return f"Merge {counted(n_merged, 'experience')} into {len(self.plan.groups):,}"
        if isinstance(self.plan, RefinePlan):
            return f"Refine: {len(self.plan.merged):,} merged, {len(self.plan.dropped):,} dropped"
        return f"Prune {counted(len(self.going), 'experience')}"

    @property
    def effect(self) -> tuple[tuple[str, str, str], ...]:
        """Figures as they would be: what of, how much, and from what."""
        return (
            ("Experiences afterwards", f"{self.after.n:,}", f"from {self.before.n:,}"),
            ("Succeeded afterwards", rate_text(self.after), f"from {rate_text(self.before)}"),
        )

    def apply(self, memory: MemorySystem) -> tuple[str, str]:
        """Do exactly this, as one operation; its id, and what was done in words of our own.

        Raises:
            PlanOutdated: The store has changed since; nothing was done.
        """
        if isinstance(self.plan, MergePlan):
            scoped = memory.experience.within("merge", self.plan.reason)
            scoped.apply_merge(self.plan)
        elif isinstance(self.plan, RefinePlan):
            scoped = memory.experience.within("refine", self.plan.reason)
            scoped.apply_refine(self.plan)
        else:
            scoped = memory.experience.within("prune", self.plan.reason)
            scoped.apply_prune(self.plan)
        verb, rest = self.button.split(" ", 1)
        return str(scoped.operation_id), f"{DONE[verb]} {rest}"


def criteria_of(
    *,
    min_percent: float | None,
    max_age_days: float | None,
    never_retrieved_days: float | None,
    max_count: int | None,
    keep_diverse: bool,
) -> dict[str, Any]:
    """Criteria from a form, in which what is empty is not used; empty where only diversity is asked for.

    Args:
        min_percent: Lowest success rate to keep, in [0, 100].
        max_age_days: Older attempts go.
        never_retrieved_days: What was not retrieved for so long goes.
        max_count: How many to keep.
        keep_diverse: Whether the best of each neighbourhood is saved.
    """
    named = {
        "min_success_rate": None if min_percent is None else min_percent / 100,
        "max_age_days": max_age_days,
        "never_retrieved_days": never_retrieved_days,
        "max_count": max_count,
    }
    used = {name: value for name, value in named.items() if value is not None}
    return {**used, KEEP_DIVERSE: True} if used and keep_diverse else used


def _proposal(
    memory: MemorySystem,
    request: PruneRequest | MergeRequest | RefineRequest,
    plan: PrunePlan | MergePlan | RefinePlan,
    view: PlanView,
    going: Sequence[str],
) -> Proposal:
    whole = memory.experience.values("outcome")
    lost = memory.experience.values("outcome", {"id": {"$in": list(going)}}) if going else {}
    left = {outcome: n - lost.get(outcome, 0) for outcome, n in whole.items()}
    return Proposal(
        request=request,
        plan=plan,
        view=view,
        going=tuple(going),
        before=SuccessRate.of(whole),
        after=SuccessRate.of(left),
    )
