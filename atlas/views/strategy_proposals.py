"""Merging and deleting strategies as they are proposed to a person: what would go and why, and doing exactly that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atlas.core.errors import PlanOutdated
from atlas.core.types import Strategy
from atlas.memory.strategy_merging import StrategyMergeGroup, StrategyMergePlan
from atlas.memory.system import MemorySystem
from atlas.views.plans import PlanRow, PlanView, gone_notes
from atlas.views.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyMergeRequest:
    """Strategies that a person wants merged into one."""

    ids: tuple[str, ...]

    verb = "Merge"
    subject = "Strategy"
    caption = "What is merged, the kept one first"

    def propose(self, memory: MemorySystem) -> StrategyProposal:
        """What it would do now; what is gone meanwhile is left out.

        Raises:
            InvalidInput: Fewer than two are left.
        """
        titles = memory.strategies.titles(self.ids)
        there = [strategy_id for strategy_id in self.ids if strategy_id in titles]
        plan = memory.strategies.plan_merge([there])
        removed = tuple(one.id for group in plan.groups for one in group.removed)
        view = _merge_view(plan, len(self.ids) - len(there))
        return StrategyProposal(request=self, view=view, going=removed, n_before=plan.n_total, plan=plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyDeleteRequest:
    """Strategies that a person wants deleted."""

    ids: tuple[str, ...]

    verb = "Delete"
    subject = "Strategy"
    caption = "What goes"

    def propose(self, memory: MemorySystem) -> StrategyProposal:
        """What it would do now; what is gone meanwhile is left out."""
        going = memory.strategies.get_many(self.ids)
        n_total = memory.strategies.count()
        share = len(going) / n_total if n_total else 0.0
        view = PlanView(
            headline=f"{len(going):,} of {counted(n_total, 'strategy')} would go ({share:.1%}).",
            notes=(*gone_notes(len(self.ids) - len(going)), "To keep them without agents being given them: retire."),
            rows=tuple(PlanRow(id=one.id, title=one.title, goes=True, why=_tries(one)) for one in going),
            n_going=len(going),
            share=share,
        )
        return StrategyProposal(request=self, view=view, going=tuple(one.id for one in going), n_before=n_total)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyProposal:
    """A plan, and all that a person should see of it before it is applied."""

    request: StrategyMergeRequest | StrategyDeleteRequest
    view: PlanView
    going: tuple[str, ...]
    """The ids of what would go."""

    n_before: int
    """Strategies in the bank."""

    plan: StrategyMergePlan | None = None
    """What merging would do; None for deleting."""

    @property
    def button(self) -> str:
        """What applying it is called: `Merge 2 strategies into 1`."""
        if self.plan is None:
            return f"Delete {counted(len(self.going), 'strategy')}"
        return f"Merge {counted(len(self.going) + len(self.plan.groups), 'strategy')} into {len(self.plan.groups):,}"

    @property
    def effect(self) -> tuple[tuple[str, str, str], ...]:
        """Figures as they would be: what of, how much, and from what."""
        return (("Strategies afterwards", f"{self.n_before - len(self.going):,}", f"from {self.n_before:,}"),)

    def apply(self, memory: MemorySystem) -> tuple[str, str]:
        """Do exactly this; the operation's id, and what was done in words of our own.

        Raises:
            PlanOutdated: The strategies have changed since; nothing was done.
        """
        if self.plan is not None:
            scoped = memory.strategies.within("merge", self.plan.reason)
            scoped.apply_merge(self.plan)
            return str(scoped.operation_id), self.button.replace("Merge", "Merged", 1)
        if self.request.propose(memory).view != self.view:
            raise PlanOutdated("the strategies have changed since this was planned; nothing was done. Plan anew")
        scoped = memory.strategies.within("delete")
        scoped.delete(list(self.going))
        return str(scoped.operation_id), self.button.replace("Delete", "Deleted", 1)


def _merge_view(plan: StrategyMergePlan, n_gone: int) -> PlanView:
    becoming = f"{counted(plan.n_removed + len(plan.groups), 'strategy')} would become {len(plan.groups):,}"
    return PlanView(
        headline=f"{becoming}: {plan.n_removed:,} of {plan.n_total:,} would go ({plan.share:.1%}).",
        notes=(*gone_notes(n_gone), "What the kept one says stays; it takes over sources, tries, parameters and tags."),
        rows=tuple(row for group in plan.groups for row in _group_rows(group)),
        n_going=plan.n_removed,
        share=plan.share,
    )


def _group_rows(group: StrategyMergeGroup) -> Iterator[PlanRow]:
    kept = group.merged
    why = f"stays: {group.why_kept}; {_tries(kept)} with theirs"
    yield PlanRow(id=kept.id, title=kept.title, goes=False, why=why)
    for one in group.removed:
        yield PlanRow(id=one.id, title=one.title, goes=True, why=_tries(one))


def _tries(strategy: Strategy) -> str:
    tried = f"tried {counted(strategy.usage_count, 'time')}" if strategy.usage_count else "never tried"
    return f"{tried}, {counted(len(strategy.sources), 'source')}"
