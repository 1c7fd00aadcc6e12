"""Merging and deleting memories of any kind, as plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.errors import PlanOutdated
from atlas.memory.base.merging import GroupsPlan
from atlas.memory.kinds.table import searchable_kinds
from atlas.memory.loss import CurationLoss, reason_with_loss
from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.shared.plans import Figure, PlanView, merge_words
from atlas.views.shared.wording import counted, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeProposal:
    """A request to merge groups of records of one kind."""

    kind: Kind
    plan: GroupsPlan[Any]
    view: PlanView

    @property
    def removed_ids(self) -> tuple[str, ...]:
        """The ids of the records that others replace."""
        return tuple(record.id for group in self.plan.groups for record in group.removed)

    @property
    def done_sentence(self) -> str:
        """`Merged 3 concepts into 1`."""
        n_kept = len(self.plan.groups)
        return merge_words(self.kind.noun, self.plan.n_removed + n_kept, n_kept, is_done=True)

    def apply(self, memory: MemorySystem) -> str | None:
        """Merge the records as one operation and return its id.

        Raises:
            PlanOutdated: A record has changed since the plan was made. Nothing was applied.
        """
        records: Any = self.kind.records(memory)
        scoped = records.as_operation("merge", self.plan.reason)
        scoped.apply_merge(self.plan)
        return str(scoped.operation_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteProposal:
    """Records of a kind that would be deleted."""

    request: DeleteRequest
    view: PlanView

    @property
    def removed_ids(self) -> tuple[str, ...]:
        """The ids of the records that would be deleted."""
        return tuple(row.id for row in self.view.rows if row.goes)

    @property
    def done_sentence(self) -> str:
        """`Deleted 2 entries`."""
        return f"Deleted {counted(len(self.removed_ids), self.request.kind.noun)}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Delete the records as one operation and return its id.

        Raises:
            PlanOutdated: A record of the plan has changed since the plan was made. Nothing was applied.
        """
        kind = self.request.kind
        if self.request.view(memory) != replace(self.view, loss=None):
            many = plural(kind.noun)
            raise PlanOutdated(f"the {many} have changed since this was planned; nothing was done. Plan again")
        records: Any = kind.records(memory)
        scoped = records.as_operation("delete", reason_with_loss("", self.view.loss))
        scoped.delete(list(self.removed_ids))
        return str(scoped.operation_id)


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """A request to merge records of a kind."""

    kind: Kind
    view_of: Callable[[Any, int], PlanView]
    """Function that returns the view of a plan, given the plan and the number of deleted records."""

    ids: tuple[str, ...]

    def keep_records(self, ids: Sequence[str]) -> MergeRequest:
        """Return the request without these records."""
        return replace(self, ids=tuple(record_id for record_id in self.ids if record_id not in ids))

    def propose(self, memory: MemorySystem) -> MergeProposal:
        """Return a plan that merges the records that still exist, with its effect on what agents find.

        Raises:
            InvalidInput: Fewer than two records remain.
        """
        records: Any = self.kind.records(memory)
        titles = records.titles(self.ids)
        present_ids = [record_id for record_id in self.ids if record_id in titles]
        plan: GroupsPlan[Any] = memory.with_loss(records.plan_merge([present_ids]))
        view = self.view_of(plan, len(self.ids) - len(titles))
        return MergeProposal(kind=self.kind, plan=plan, view=with_count(view, self.kind, plan.n_total))


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    """A request to delete records of a kind."""

    kind: Kind
    view_of: Callable[[MemorySystem, tuple[str, ...]], PlanView]
    """Function that returns the view of a plan to delete records, given their ids. Some may be deleted already."""

    ids: tuple[str, ...]

    def keep_records(self, ids: Sequence[str]) -> DeleteRequest:
        """Return the request without these records."""
        return replace(self, ids=tuple(record_id for record_id in self.ids if record_id not in ids))

    def view(self, memory: MemorySystem) -> PlanView:
        """Return the plan to delete them, without the measured loss."""
        n_total = self.kind.records(memory).count()
        return with_count(self.view_of(memory, self.ids), self.kind, n_total)

    def propose(self, memory: MemorySystem) -> DeleteProposal:
        """Return a plan that deletes the records that still exist, with its effect on what agents find."""
        view = self.view(memory)
        loss = loss_without(memory, self.kind, [row.id for row in view.rows if row.goes])
        return DeleteProposal(request=self, view=replace(view, loss=loss))


def loss_without(memory: MemorySystem, kind: Kind, ids: Sequence[str]) -> CurationLoss:
    """Return the loss to agents if records of a kind left the searches."""
    name = next(name for name, each in searchable_kinds().items() if each.noun == kind.noun)
    return memory.curation_loss(name, dict.fromkeys(ids, ""))


def with_count(view: PlanView, kind: Kind, n_total: int) -> PlanView:
    """Return the view with the number of remaining records."""
    name = plural(kind.noun).capitalize()
    return replace(view, figures=(Figure(name, f"{n_total - view.n_going:,}", f"{n_total:,}"),))
