"""Merging, deleting and retiring strategies, as plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from atlas.core.errors import PlanOutdated
from atlas.core.types import Strategy
from atlas.memory.loss import reason_with_loss
from atlas.memory.strategies.merging import StrategyMergeGroup, StrategyMergePlan
from atlas.memory.system import MemorySystem
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.shared.plans import PlanRow, PlanView, deleting_view, gone_notes, hiding_view, merging_view
from atlas.views.shared.wording import counted


def delete_view(memory: MemorySystem, ids: Sequence[str]) -> PlanView:
    """Return the view of a plan that deletes strategies, without those already deleted."""
    going = memory.strategies.get_many(ids)
    rows = [PlanRow(id=strategy.id, title=strategy.title, goes=True, why=_tries(strategy)) for strategy in going]
    notes = [*gone_notes(len(ids) - len(going)), "To hide them from agents, retire them instead."]
    return deleting_view(rows, STRATEGY.noun, memory.strategies.count(), caption="What is deleted", notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetirePlan:
    """Strategies that agents would no longer be given. None is deleted."""

    view: PlanView

    removed_ids: tuple[str, ...] = ()
    """Empty, as none is deleted."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the strategies that would be retired."""
        return tuple(row.id for row in self.view.rows)

    @property
    def done_sentence(self) -> str:
        """`Retired 2 strategies; 1 of 2 tasks loses its best record`."""
        return reason_with_loss(f"Retired {counted(len(self.ids), STRATEGY.noun)}", self.view.loss)

    def apply(self, memory: MemorySystem) -> str | None:
        """Retire them as one operation, whose reason in the history has the loss, and return its id.

        Raises:
            PlanOutdated: One of them was deleted, renamed or retired since. The store is unchanged.
        """
        if _retiring_view(memory, self.ids) != replace(self.view, loss=None):
            raise PlanOutdated("the strategies have changed since this was planned; nothing was done. Plan again")
        scoped = memory.strategies.as_operation("mark", reason_with_loss("", self.view.loss))
        return scoped.operation_id if scoped.retire(self.ids) else None


@dataclass(frozen=True, slots=True)
class RetireRequest:
    """A request to retire strategies."""

    ids: tuple[str, ...]

    def keep_records(self, ids: Sequence[str]) -> RetireRequest:
        """Return the same request without these strategies."""
        return RetireRequest(tuple(strategy_id for strategy_id in self.ids if strategy_id not in ids))

    def propose(self, memory: MemorySystem) -> RetirePlan:
        """Return a plan to retire the strategies that exist and are active, with the measured loss."""
        view = _retiring_view(memory, self.ids)
        loss = memory.curation_loss("strategies", {row.id: "" for row in view.rows})
        return RetirePlan(view=replace(view, loss=loss))


@dataclass(frozen=True, slots=True, kw_only=True)
class BringBackPlan:
    """Retired strategies that agents would be given again."""

    ids: tuple[str, ...]
    removed_ids: tuple[str, ...] = ()

    @property
    def view(self) -> PlanView:
        """The words on the button."""
        return PlanView(title="Bring back", headline="Agents are given them again.", button="Bring back", nothing="")

    @property
    def done_sentence(self) -> str:
        """`Brought back 2 strategies`."""
        return f"Brought back {counted(len(self.ids), STRATEGY.noun)}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Bring them back as one operation and return its id, or None if there is no change."""
        scoped = memory.strategies.as_operation("mark")
        return scoped.operation_id if scoped.unretire(self.ids) else None


def _retiring_view(memory: MemorySystem, ids: Sequence[str]) -> PlanView:
    """Return the view of a plan that retires strategies, without the measured loss."""
    retired = memory.strategies.retired()
    titles = memory.strategies.titles([strategy_id for strategy_id in ids if strategy_id not in retired])
    return hiding_view(titles, STRATEGY.noun)


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
