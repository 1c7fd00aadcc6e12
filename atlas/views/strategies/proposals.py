"""The views of plans that merge and delete strategies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from atlas.core.types import Strategy
from atlas.memory.strategies.merging import StrategyMergeGroup, StrategyMergePlan
from atlas.memory.system import MemorySystem
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.shared.plans import PlanRow, PlanView, deleting_view, gone_notes, merging_view
from atlas.views.shared.wording import counted


def delete_view(memory: MemorySystem, ids: Sequence[str]) -> PlanView:
    """Return the view of a plan that deletes strategies, without those already deleted."""
    going = memory.strategies.get_many(ids)
    rows = [PlanRow(id=strategy.id, title=strategy.title, goes=True, why=_tries(strategy)) for strategy in going]
    notes = [*gone_notes(len(ids) - len(going)), "To hide them from agents, retire them instead."]
    return deleting_view(rows, STRATEGY.noun, memory.strategies.count(), caption="What is deleted", notes=notes)


def merge_view(plan: StrategyMergePlan, n_gone: int) -> PlanView:
    """Return the view of a plan that merges strategies.

    Args:
        n_gone: Number of chosen records that were deleted.
    """
    rows = [row for group in plan.groups for row in _group_rows(group)]
    stays = "The kept one's text stays. It takes over the sources, uses, parameters and tags of the others."
    notes = [*gone_notes(n_gone), stays]
    return merging_view(plan, STRATEGY.noun, rows, caption="What is merged, the kept one first", notes=notes)


def _group_rows(group: StrategyMergeGroup) -> Iterator[PlanRow]:
    merged = group.merged
    why = f"stays: {group.why_kept}; {_tries(merged)} with theirs"
    yield PlanRow(id=merged.id, title=merged.title, goes=False, why=why)
    for removed in group.removed:
        yield PlanRow(id=removed.id, title=removed.title, goes=True, why=_tries(removed))


def _tries(strategy: Strategy) -> str:
    used = f"used {counted(strategy.usage_count, 'time')}" if strategy.usage_count else "never used"
    return f"{used}, {counted(len(strategy.sources), 'source')}"
