"""Merging, deleting and retiring strategies, as plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atlas.core.types import Strategy
from atlas.memory.loss import with_loss
from atlas.memory.strategies.merging import StrategyMergeGroup, StrategyMergePlan
from atlas.memory.system import MemorySystem
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.shared.plans import PlanRow, PlanView, deleting_view, gone_notes, merging_view
from atlas.views.shared.wording import counted


def delete_view(memory: MemorySystem, ids: Sequence[str]) -> PlanView:
    """Return the view of a plan that deletes strategies, without those that were deleted meanwhile."""
    going = memory.strategies.get_many(ids)
    rows = [PlanRow(id=strategy.id, title=strategy.title, goes=True, why=_tries(strategy)) for strategy in going]
    notes = [*gone_notes(len(ids) - len(going)), "To hide them from agents, retire them instead."]
    return deleting_view(rows, STRATEGY.noun, memory.strategies.count(), caption="What is removed", notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetirePlan:
    """Strategies that agents would no longer be given, or would be given again. None is deleted."""

    ids: tuple[str, ...]
    is_back: bool = False
    """True if they are retired now and would be brought back."""

    going: tuple[str, ...] = ()

    @property
    def view(self) -> PlanView:
        """The words on the button."""
        if self.is_back:
            return PlanView(
                title="Bring back", headline="Agents are given them again.", button="Bring back", nothing=""
            )
        headline = "Agents are not given them any more. They are kept."
        return PlanView(title="Retire", headline=headline, button="Retire", nothing="")

    @property
    def done_sentence(self) -> str:
        """`Retired 2 strategies`."""
        return f"{'Brought back' if self.is_back else 'Retired'} {counted(len(self.ids), STRATEGY.noun)}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Retire them or bring them back as one operation and return its id, or None if there is no change."""
        loss = None if self.is_back else memory.curation_loss("strategies", dict.fromkeys(self.ids, ""))
        reason = with_loss("brought back" if self.is_back else "retired", loss)
        scoped = memory.strategies.within("mark", reason)
        change = scoped.unretire if self.is_back else scoped.retire
        return scoped.operation_id if change(self.ids) else None


def merge_view(plan: StrategyMergePlan, n_gone: int) -> PlanView:
    """Return the view of a plan that merges strategies.

    Args:
        n_gone: Number of chosen records that are gone.
    """
    rows = [row for group in plan.groups for row in _group_rows(group)]
    stays = "The kept one's text stays. It takes over the sources, tries, parameters and tags of the others."
    notes = [*gone_notes(n_gone), stays]
    return merging_view(plan, STRATEGY.noun, rows, caption="What is merged, the kept one first", notes=notes)


def _group_rows(group: StrategyMergeGroup) -> Iterator[PlanRow]:
    merged = group.merged
    why = f"stays: {group.why_kept}; {_tries(merged)} with theirs"
    yield PlanRow(id=merged.id, title=merged.title, goes=False, why=why)
    for removed in group.removed:
        yield PlanRow(id=removed.id, title=removed.title, goes=True, why=_tries(removed))


def _tries(strategy: Strategy) -> str:
    tried = f"tried {counted(strategy.usage_count, 'time')}" if strategy.usage_count else "never tried"
    return f"{tried}, {counted(len(strategy.sources), 'source')}"
