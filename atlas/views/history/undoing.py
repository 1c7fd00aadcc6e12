"""The plan to undo all operations of an actor, with the operations that cannot be undone."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.operations import BulkUndo, Operation, Operations
from atlas.memory.system import MemorySystem
from atlas.views.history.operations import operation_row
from atlas.views.shared.plans import PlanRow, PlanView
from atlas.views.shared.wording import counted, utc_time_text


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoManyRequest:
    """A request to undo all operations of an actor, optionally since a time."""

    wanted: Operations

    def propose(self, memory: MemorySystem) -> UndoManyProposal:
        """Return the plan for the current state."""
        plan = memory.plan_undo(self.wanted)
        return UndoManyProposal(wanted=self.wanted, plan=plan, view=_view(memory, plan))


@dataclass(slots=True, kw_only=True)
class UndoManyProposal:
    """Operations that would be undone as one."""

    wanted: Operations
    plan: BulkUndo
    view: PlanView
    n_later: int = 0
    """Number of matching operations after the preview, known once this was applied."""

    @property
    def removed_ids(self) -> tuple[str, ...]:
        """The ids of the records that it removes or changes."""
        return ()

    @property
    def done_sentence(self) -> str:
        """The result as a sentence: `Undid 14 operations. 3 more came since: preview again`."""
        later = f". {self.n_later:,} more came since: preview again" if self.n_later else ""
        return f"Undid {counted(len(self.plan.undone), 'operation')}{later}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Undo the operations as one operation and return its id.

        Raises:
            PlanOutdated: Some records were changed or undone since. The store is unchanged.
        """
        done = memory.apply_undo(self.wanted, self.plan)
        self.n_later = done.n_later
        return done.id


def _view(memory: MemorySystem, plan: BulkUndo) -> PlanView:
    n_undone, n_refused = len(plan.undone), len(plan.refused)
    stays = f" {counted(n_refused, 'operation')} cannot be undone any more." if n_refused else ""
    return PlanView(
        title="Undo",
        headline=f"{counted(n_undone, 'operation')} would be undone, the newest first.{stays}",
        button=f"Undo {counted(n_undone, 'operation')}" if n_undone else "",
        rows=(
            *(_row(memory, operation, goes=True, reason="would be undone") for operation in plan.undone),
            *(_row(memory, operation, goes=False, reason=reason) for operation, reason in plan.refused),
        ),
        subject="Operation",
        caption="What was done, newest first",
        nothing="There is nothing left to undo.",
        n_going=n_undone,
    )


def _row(memory: MemorySystem, operation: Operation, *, goes: bool, reason: str) -> PlanRow:
    row = operation_row(memory, operation)
    title = f"{utc_time_text(row.at)} · {row.what}: {row.counts}"
    return PlanRow(id=operation.id, title=title, goes=goes, why=reason)
