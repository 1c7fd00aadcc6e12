"""Merging and deleting memories of any kind, as plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.errors import PlanOutdated
from atlas.memory.base.merging import GroupsPlan
from atlas.memory.system import MemorySystem
from atlas.views.shared.kinds import Kind
from atlas.views.shared.plans import Figure, PlanRequest, PlanView, merge_words
from atlas.views.shared.wording import counted, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeProposal:
    """Groups of records of a kind, each of which would become one."""

    kind: Kind
    plan: GroupsPlan[Any]
    view: PlanView

    @property
    def going(self) -> tuple[str, ...]:
        """The ids of the records that others replace."""
        return tuple(one.id for group in self.plan.groups for one in group.removed)

    @property
    def done_sentence(self) -> str:
        """`Merged 3 concepts into 1`."""
        n_kept = len(self.plan.groups)
        return merge_words(self.kind.noun, self.plan.n_removed + n_kept, n_kept, is_done=True)

    def apply(self, memory: MemorySystem) -> str | None:
        """Merge them as one operation and return its id.

        Raises:
            PlanOutdated: One of them has changed since; nothing was done.
        """
        records: Any = self.kind.records(memory)
        scoped = records.within("merge", self.plan.reason)
        scoped.apply_merge(self.plan)
        return str(scoped.operation_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteProposal:
    """Records of a kind that would be deleted."""

    request: PlanRequest[DeleteProposal]
    kind: Kind
    going: tuple[str, ...]
    view: PlanView

    @property
    def done_sentence(self) -> str:
        """`Deleted 2 entries`."""
        return f"Deleted {counted(len(self.going), self.kind.noun)}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Delete them as one operation and return its id.

        Raises:
            PlanOutdated: What the plan showed has changed since; nothing was done.
        """
        if self.request.propose(memory).view != self.view:
            many = plural(self.kind.noun)
            raise PlanOutdated(f"the {many} have changed since this was planned; nothing was done. Plan again")
        records: Any = self.kind.records(memory)
        scoped = records.within("delete")
        scoped.delete(list(self.going))
        return str(scoped.operation_id)


def propose_merge(
    memory: MemorySystem, kind: Kind, ids: Sequence[str], view_of: Callable[[Any, int], PlanView]
) -> MergeProposal:
    """Return the plan that makes one record of these, without those that are gone meanwhile.

    Args:
        view_of: Shows a plan of the kind, given it and how many of those chosen are gone.

    Raises:
        InvalidInput: Fewer than two are left.
    """
    records: Any = kind.records(memory)
    titles = records.titles(ids)
    there = [one for one in ids if one in titles]
    plan: GroupsPlan[Any] = records.plan_merge([there])
    view = view_of(plan, len(ids) - len(there))
    return MergeProposal(kind=kind, plan=plan, view=with_count(view, kind, plan.n_total))


def propose_deletion(
    request: PlanRequest[DeleteProposal], kind: Kind, ids: Sequence[str], view: PlanView, n_total: int
) -> DeleteProposal:
    """Return the plan that deletes these.

    Args:
        view: The view of the plan.
        n_total: How many records of the kind there are.
    """
    return DeleteProposal(request=request, kind=kind, going=tuple(ids), view=with_count(view, kind, n_total))


def with_count(view: PlanView, kind: Kind, n_total: int) -> PlanView:
    """Return the view with the number of records that would be left."""
    name = f"{plural(kind.noun).capitalize()} afterwards"
    return replace(view, figures=(Figure(name, f"{n_total - view.n_going:,}", f"from {n_total:,}"),))
