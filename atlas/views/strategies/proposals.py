"""Merging, deleting and retiring strategies, as plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atlas.core.types import Strategy
from atlas.memory.strategies.merging import StrategyMergeGroup, StrategyMergePlan
from atlas.memory.system import MemorySystem
from atlas.views.shared.kinds import STRATEGY
from atlas.views.shared.plans import PlanRow, PlanView, deleting_view, gone_notes, merging_view
from atlas.views.shared.removals import DeleteProposal, MergeProposal, propose_deletion, propose_merge
from atlas.views.shared.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyMergeRequest:
    """Strategies that a person wants merged into one."""

    ids: tuple[str, ...]

    def propose(self, memory: MemorySystem) -> MergeProposal:
        """Return what merging them would do now, without strategies that are gone meanwhile.

        Raises:
            InvalidInput: Fewer than two are left.
        """
        return propose_merge(memory, STRATEGY, self.ids, _merge_view)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyDeleteRequest:
    """Strategies that a person wants deleted."""

    ids: tuple[str, ...]

    def propose(self, memory: MemorySystem) -> DeleteProposal:
        """Return what deleting them would do now, without strategies that are gone meanwhile."""
        going = memory.strategies.get_many(self.ids)
        n_total = memory.strategies.count()
        rows = [PlanRow(id=one.id, title=one.title, goes=True, why=_tries(one)) for one in going]
        notes = [*gone_notes(len(self.ids) - len(going)), "To hide them from agents, retire them instead."]
        view = deleting_view(rows, STRATEGY.noun, n_total, caption="What is removed", notes=notes)
        return propose_deletion(self, STRATEGY, [one.id for one in going], view, n_total)


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
        """Retire them or bring them back as one operation and return its id, or None if nothing changed."""
        scoped = memory.strategies.within("mark", "brought back" if self.is_back else "retired")
        change = scoped.unretire if self.is_back else scoped.retire
        return scoped.operation_id if change(self.ids) else None


def _merge_view(plan: StrategyMergePlan, n_gone: int) -> PlanView:
    rows = [row for group in plan.groups for row in _group_rows(group)]
    stays = "The kept one's text stays. It takes over the sources, tries, parameters and tags of the others."
    notes = [*gone_notes(n_gone), stays]
    return merging_view(plan, STRATEGY.noun, rows, caption="What is merged, the kept one first", notes=notes)


def _group_rows(group: StrategyMergeGroup) -> Iterator[PlanRow]:
    kept = group.merged
    why = f"stays: {group.why_kept}; {_tries(kept)} with theirs"
    yield PlanRow(id=kept.id, title=kept.title, goes=False, why=why)
    for one in group.removed:
        yield PlanRow(id=one.id, title=one.title, goes=True, why=_tries(one))


def _tries(strategy: Strategy) -> str:
    tried = f"tried {counted(strategy.usage_count, 'time')}" if strategy.usage_count else "never tried"
    return f"{tried}, {counted(len(strategy.sources), 'source')}"
