"""Merging and deleting strategies as they are proposed to a person: what would go and why, and doing exactly that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atlas.core.types import Strategy
from atlas.memory.strategies.merging import StrategyMergeGroup, StrategyMergePlan
from atlas.memory.system import MemorySystem
from atlas.views.shared.kinds import STRATEGY
from atlas.views.shared.plans import PlanRow, PlanView, deleting_view, gone_notes, merging_view
from atlas.views.shared.removals import Removal, propose_merge
from atlas.views.shared.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyMergeRequest:
    """Strategies that a person wants merged into one."""

    ids: tuple[str, ...]

    kind = STRATEGY
    verb = "Merge"
    subject = "Strategy"
    caption = "What is merged, the kept one first"

    def propose(self, memory: MemorySystem) -> Removal:
        """What it would do now; what is gone meanwhile is left out.

        Raises:
            InvalidInput: Fewer than two are left.
        """
        return propose_merge(memory, self, _merge_view)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyDeleteRequest:
    """Strategies that a person wants deleted."""

    ids: tuple[str, ...]

    kind = STRATEGY
    verb = "Delete"
    subject = "Strategy"
    caption = "What goes"

    def propose(self, memory: MemorySystem) -> Removal:
        """What it would do now; what is gone meanwhile is left out."""
        going = memory.strategies.get_many(self.ids)
        n_total = memory.strategies.count()
        rows = [PlanRow(id=one.id, title=one.title, goes=True, why=_tries(one)) for one in going]
        notes = [*gone_notes(len(self.ids) - len(going)), "To keep them without agents being given them: retire."]
        view = deleting_view(rows, "strategy", n_total, notes)
        return Removal(request=self, view=view, going=tuple(one.id for one in going), n_before=n_total)


def _merge_view(plan: StrategyMergePlan, n_gone: int) -> PlanView:
    rows = [row for group in plan.groups for row in _group_rows(group)]
    stays = "What the kept one says stays; it takes over sources, tries, parameters and tags."
    return merging_view(plan, "strategy", rows, [*gone_notes(n_gone), stays])


def _group_rows(group: StrategyMergeGroup) -> Iterator[PlanRow]:
    kept = group.merged
    why = f"stays: {group.why_kept}; {_tries(kept)} with theirs"
    yield PlanRow(id=kept.id, title=kept.title, goes=False, why=why)
    for one in group.removed:
        yield PlanRow(id=one.id, title=one.title, goes=True, why=_tries(one))


def _tries(strategy: Strategy) -> str:
    tried = f"tried {counted(strategy.usage_count, 'time')}" if strategy.usage_count else "never tried"
    return f"{tried}, {counted(len(strategy.sources), 'source')}"
