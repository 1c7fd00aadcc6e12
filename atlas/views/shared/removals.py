"""Merging and deleting memories of any kind as they are proposed to a person, and doing exactly that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from atlas.core.errors import PlanOutdated
from atlas.memory.base.merging import GroupsPlan
from atlas.memory.system import MemorySystem
from atlas.views.shared.kinds import Kind
from atlas.views.shared.plans import PlanView
from atlas.views.shared.wording import counted, plural


class RemovalRequest(Protocol):
    """What a person wants merged or deleted."""

    @property
    def kind(self) -> Kind:
        """What they are."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Those that were chosen."""

    @property
    def verb(self) -> str:
        """What the dialog is called."""

    @property
    def subject(self) -> str:
        """The heading over their titles."""

    @property
    def caption(self) -> str:
        """Of the plan's table."""

    def propose(self, memory: MemorySystem) -> Removal:
        """What it would do now; what is gone meanwhile is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A plan, and all that a person should see of it before it is applied."""

    request: RemovalRequest
    view: PlanView
    going: tuple[str, ...]
    """The ids of what would go."""

    n_before: int
    """How many there are of the kind."""

    plan: GroupsPlan[Any] | None = None
    """What merging would do; None for deleting."""

    @property
    def button(self) -> str:
        """What applying it is called: `Merge 2 concepts into 1`, `Delete 2 entries`."""
        noun = self.request.kind.noun
        if self.plan is None:
            return f"Delete {counted(len(self.going), noun)}"
        return f"Merge {counted(len(self.going) + len(self.plan.groups), noun)} into {len(self.plan.groups):,}"

    @property
    def effect(self) -> tuple[tuple[str, str, str], ...]:
        """Figures as they would be: what of, how much, and from what."""
        name = f"{plural(self.request.kind.noun).capitalize()} afterwards"
        return ((name, f"{self.n_before - len(self.going):,}", f"from {self.n_before:,}"),)

    def apply(self, memory: MemorySystem) -> tuple[str, str]:
        """Do exactly this; the operation's id, and what was done in words of our own.

        Raises:
            PlanOutdated: What it is about has changed since; nothing was done.
        """
        records: Any = self.request.kind.records(memory)
        if self.plan is not None:
            scoped = records.within("merge", self.plan.reason)
            scoped.apply_merge(self.plan)
            return str(scoped.operation_id), self.button.replace("Merge", "Merged", 1)
        if self.request.propose(memory).view != self.view:
            many = plural(self.request.kind.noun)
            raise PlanOutdated(f"the {many} have changed since this was planned; nothing was done. Plan anew")
        scoped = records.within("delete")
        scoped.delete(list(self.going))
        return str(scoped.operation_id), self.button.replace("Delete", "Deleted", 1)


def propose_merge(memory: MemorySystem, request: RemovalRequest, view_of: Callable[[Any, int], PlanView]) -> Removal:
    """What merging the chosen ones into one would do now; what is gone meanwhile is left out.

    Args:
        view_of: Shows a plan of the kind, by it and by how many of those chosen are gone.

    Raises:
        InvalidInput: Fewer than two are left.
    """
    records: Any = request.kind.records(memory)
    titles = records.titles(request.ids)
    there = [one for one in request.ids if one in titles]
    plan: GroupsPlan[Any] = records.plan_merge([there])
    removed = tuple(one.id for group in plan.groups for one in group.removed)
    view = view_of(plan, len(request.ids) - len(there))
    return Removal(request=request, view=view, going=removed, n_before=plan.n_total, plan=plan)
