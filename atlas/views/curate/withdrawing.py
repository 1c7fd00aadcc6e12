"""Withdrawal of records with all that came from them, as a plan that pages show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from atlas.memory.effects.withdrawal import Withdrawal
from atlas.memory.kinds.table import known_kinds
from atlas.memory.system import MemorySystem
from atlas.views.shared.plans import PlanRow, PlanView, deletion_words, undo_of_removals
from atlas.views.shared.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalProposal:
    """Records that would be withdrawn."""

    plan: Withdrawal
    view: PlanView

    @property
    def removed_ids(self) -> tuple[str, ...]:
        """The ids of the records that would be deleted."""
        return tuple(record.id for record in self.plan.records)

    @property
    def done_sentence(self) -> str:
        """`Deleted 4 records`."""
        return f"Deleted {counted(len(self.plan.records), 'record')}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Delete the records as one operation and return its id.

        Raises:
            PlanOutdated: A record was derived, used, changed or deleted since.
        """
        return memory.apply_withdrawal(self.plan)


@dataclass(frozen=True, slots=True)
class WithdrawRequest:
    """A request to withdraw records of any memory."""

    ids: tuple[str, ...]
    keep: tuple[str, ...] = ()
    """Ids of derived records that stay."""

    def keep_records(self, ids: Sequence[str]) -> WithdrawRequest:
        """Return the same request without these derived records, which stay."""
        return replace(self, keep=(*self.keep, *ids))

    def propose(self, memory: MemorySystem) -> WithdrawalProposal:
        """Return the plan for the current store, with the reach of its records.

        Raises:
            NotFound: One of the records does not exist.
        """
        plan = memory.plan_withdrawal(self.ids, self.keep)
        n_total = sum(kind.records(memory).count() for kind in known_kinds().values())
        return WithdrawalProposal(plan=plan, view=withdrawal_view(plan, n_total))


def withdrawal_view(plan: Withdrawal, n_total: int) -> PlanView:
    """Return the view of a withdrawal: its records, and the tasks whose contexts would contain them now."""
    n_records, reach = len(plan.records), plan.reach
    share = n_records / n_total if n_total else 0.0
    return PlanView(
        title="Delete with what came from it",
        headline=f"{deletion_words(n_records, n_total, 'record')}.",
        button=f"Delete {counted(n_records, 'record')}",
        notes=(
            f"{counted(len(plan.uses), 'use')} of these by attempts are recorded, and the attempts stay.",
            f"Searches returned these {counted(reach.n_retrieved, 'time')}.",
            f"The contexts of {len(reach.tasks)} of {counted(reach.n_tasks, 'replayed task')} would contain them now.",
        ),
        rows=tuple(_rows(plan)),
        subject="Record or task",
        caption="What would be deleted, and tasks whose contexts would contain it now",
        undo=undo_of_removals(n_records, "record"),
        is_deletion=True,
        n_going=n_records,
        share=share,
    )


def _rows(plan: Withdrawal) -> Iterator[PlanRow]:
    titles = {record.id: record.title for record in plan.records}
    for record in plan.records:
        reason = f"{record.relation} {titles.get(record.source, record.source)}" if record.source else "requested"
        yield PlanRow(id=record.id, title=record.title, goes=True, why=reason)
    for task in plan.reach.tasks:
        yield PlanRow(id="", title=task.title, goes=False, why=f"would contain {len(task.ids):,} of these")
