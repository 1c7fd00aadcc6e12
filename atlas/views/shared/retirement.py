"""Retiring memories of any kind, so that agents do not find them, and bringing them back, as plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from atlas.core.errors import PlanOutdated
from atlas.memory.loss import reason_with_loss
from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.shared.plans import PlanView, hiding_view
from atlas.views.shared.removals import loss_without
from atlas.views.shared.wording import counted, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class RetireProposal:
    """Records of a kind that agents would no longer find."""

    request: RetireRequest
    view: PlanView

    removed_ids: tuple[str, ...] = ()
    """Empty, as none is deleted."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the records that would be retired."""
        return tuple(row.id for row in self.view.rows)

    @property
    def done_sentence(self) -> str:
        """`Retired 2 entries; 1 of 2 tasks loses its best record`."""
        return reason_with_loss(f"Retired {counted(len(self.ids), self.request.kind.noun)}", self.view.loss)

    def apply(self, memory: MemorySystem) -> str | None:
        """Retire the records as one operation, whose reason in the history is the loss, and return its id.

        Raises:
            PlanOutdated: A record of the plan was deleted, renamed or retired since. The store is unchanged.
        """
        kind = self.request.kind
        if self.request.view(memory) != replace(self.view, loss=None):
            many = plural(kind.noun)
            raise PlanOutdated(f"the {many} have changed since this was planned; nothing was done. Plan again")
        scoped = kind.records(memory).as_operation("mark", reason_with_loss("", self.view.loss))
        return scoped.operation_id if scoped.change_marks(self.ids, buried=True) else None


@dataclass(frozen=True, slots=True)
class RetireRequest:
    """A request to retire records of one kind."""

    kind: Kind
    ids: tuple[str, ...]

    def keep_records(self, ids: Sequence[str]) -> RetireRequest:
        """Return the request without these records."""
        return replace(self, ids=tuple(record_id for record_id in self.ids if record_id not in ids))

    def view(self, memory: MemorySystem) -> PlanView:
        """Return a plan to retire the records that are not retired yet, without the measured loss."""
        retired = self.kind.retired_ids(memory, self.ids)
        titles = self.kind.records(memory).titles([record_id for record_id in self.ids if record_id not in retired])
        return hiding_view(titles, self.kind.noun)

    def propose(self, memory: MemorySystem) -> RetireProposal:
        """Return a plan to retire the records that still exist, with the measured loss."""
        view = self.view(memory)
        loss = loss_without(memory, self.kind, [row.id for row in view.rows])
        return RetireProposal(request=self, view=replace(view, loss=loss))


@dataclass(frozen=True, slots=True, kw_only=True)
class BringBackPlan:
    """Retired records that agents would find again."""

    kind: Kind
    ids: tuple[str, ...]
    removed_ids: tuple[str, ...] = ()

    @property
    def view(self) -> PlanView:
        """The words on the button."""
        headline = f"Agents find the {plural(self.kind.noun)} again."
        return PlanView(title="Bring back", headline=headline, button="Bring back", nothing="")

    @property
    def done_sentence(self) -> str:
        """`Brought back 2 strategies`."""
        return f"Brought back {counted(len(self.ids), self.kind.noun)}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Bring them back as one operation and return its id, or None if there is no change."""
        scoped = self.kind.records(memory).as_operation("mark")
        return scoped.operation_id if self.kind.unretire(scoped, self.ids) else None
