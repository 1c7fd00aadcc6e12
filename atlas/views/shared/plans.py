"""Plans of changes, shown to a person before and after they are applied.

Each feature makes its own: it describes its plan and applies it. The command line and the pages show all of them
alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol, TypeVar, runtime_checkable

from atlas.core.errors import InvalidInput
from atlas.memory.base.merging import GroupsPlan
from atlas.memory.loss import CurationLoss as CurationLoss
from atlas.memory.system import MemorySystem
from atlas.views.shared.wording import counted, share_text

TYPED_SHARE = 0.05
"""The share of the store above which a person has to type the count before a plan is applied."""


N_FIGURE, RATE_FIGURE = "Experiences", "Success rate"
"""Names of the figures of a plan that removes experiences."""


class Plan(Protocol):
    """A change of the store that is applied exactly as it was shown, and can be undone."""

    @property
    def view(self) -> PlanView:
        """The preview of the plan."""

    @property
    def removed_ids(self) -> tuple[str, ...]:
        """The ids of the records that it removes."""

    @property
    def done_sentence(self) -> str:
        """The sentence after it is applied: `Deleted 9 experiences`."""

    def apply(self, memory: MemorySystem) -> str | None:
        """Apply exactly this as one operation and return its id, or None if no change is left.

        Raises:
            PlanOutdated: The store has changed since the plan was made. Nothing was applied.
        """


P_co = TypeVar("P_co", bound=Plan, covariant=True)


class PlanRequest(Protocol[P_co]):
    """A requested change, which can be planned repeatedly."""

    def propose(self, memory: MemorySystem) -> P_co:
        """Return the plan for the current store."""


@runtime_checkable
class SparingRequest(Protocol):
    """A requested change from which records can be excluded."""

    def keep_records(self, ids: Sequence[str]) -> PlanRequest[Any]:
        """Return the request without these records, which stay."""


@runtime_checkable
class RetirableRequest(Protocol):
    """A requested deletion of records that could be retired instead."""

    def retire_instead(self, ids: Sequence[str]) -> PlanRequest[Any]:
        """Return the request to retire these records."""


@dataclass(frozen=True, slots=True)
class CompletedAct:
    """One operation on the store."""

    operation_id: str
    sentence: str
    """The act, as trusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One record of a plan. Title and reason may contain text of memories."""

    id: str
    title: str
    goes: bool
    why: str
    """The reason why it is removed, or why it stays."""

    outcome: str = ""
    """`succeeded`, `failed` or `unknown`, or empty if the record is not an attempt."""

    at: datetime | None = None
    """Time of the attempt, or None if the plan does not know it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the store before the change and after it."""

    name: str
    value: str
    """After the change."""

    before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """The preview of a plan. Only rows and caption may contain texts of memories."""

    title: str
    """The name of the dialog."""

    headline: str
    """A sentence on what would change, and in how much of the memory."""

    share_sentence: str = ""
    """The headline without what the heading says too: `8% of 40 experiences.`, or empty if the heading says less."""

    button: str
    """Label of the button that applies it: `Delete 9 experiences`, or empty for a plan without changes."""

    outcome_heading: str = ""
    """The button's words with the outcomes that leave: `Delete 9 failed experiences`, or empty if there are none."""

    rule: str = ""
    """The sentence on the rule that chose the records and what it spares, or empty if a person chose them."""

    notes: tuple[str, ...] = ()
    """Sentences on records that were not judged or not found."""

    rows: tuple[PlanRow, ...] = ()
    """The records of the plan. In a merge, each kept record precedes the records that it replaces."""

    subject: str = ""
    """The heading over the titles of the rows."""

    caption: str = ""
    """The caption of a single table of all rows. If it is empty, removed and saved records have separate tables."""

    figures: tuple[Figure, ...] = ()
    undo: str = "It can be undone."
    """The sentence on what undoing it does."""

    nothing: str = "Nothing would be deleted."
    """The sentence for a plan without changes."""

    is_deletion: bool = False
    """True if its purpose is to delete, and not to merge or shorten."""

    n_chosen: int = 0
    """Number of records that a rule or a person chose to delete, with the protected ones. 0 for other plans."""

    n_going: int = 0
    """Number of records that the plan removes or moves, which a person may have to type."""

    share: float = 0.0
    """The share of the memory that these records are, in [0, 1]."""

    loss: CurationLoss | None = None
    """Loss to agents, or None if it was not measured. Titles and tasks in it are untrusted."""

    @property
    def heading(self) -> str:
        """The change: `Delete 9 failed experiences`, or the title if nothing changes."""
        return self.outcome_heading or self.button or self.title

    @property
    def is_large(self) -> bool:
        """True if so many records would be removed that a person has to type the count."""
        return self.share > TYPED_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A plan in a dialog, whose removals a person may untick one by one."""

    request: PlanRequest[Any]
    whole: Plan
    """The plan with every removal ticked."""

    plan: Plan
    """The plan without the unticked removals, which is what would be applied."""

    kept: frozenset[str] = frozenset()
    """The ids of the unticked removals."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why unticked records stay: `1 of the 13 you chose stays: it is the best record of 10 tasks.`."""
        loss = self.whole.view.loss
        needed = [record for record in (loss.lost if loss else ()) if record.id in self.kept]
        n_needed, n_others = len(needed), len(self.kept) - len(needed)
        tasks = counted(len({task for record in needed for task in record.tasks}), "task")
        parts = (
            (n_needed, f"{'it is the best record' if n_needed == 1 else 'they are the best records'} of {tasks}"),
            (n_others, f"you unticked {'it' if n_others == 1 else 'them'}"),
        )
        return tuple(f"{self._stay(n)}: {why}." for n, why in parts if n)

    def _stay(self, n: int) -> str:
        """Return `1 of the 13 you chose stays`, or `1 stays` for a plan that is no deletion."""
        view = self.whole.view
        chosen = f" of the {view.n_chosen:,} {'that match' if view.rule else 'you chose'}" if view.n_chosen > 1 else ""
        return f"{n:,}{chosen} {'stays' if n == 1 else 'stay'}"

    @property
    def can_untick(self) -> bool:
        """True if single removals can be unticked."""
        return isinstance(self.request, SparingRequest)

    def keeping(self, memory: MemorySystem, ids: Iterable[str]) -> Offer:
        """Return the offer with exactly these removals unticked, planned for the current store.

        Args:
            ids: Ids of removals. Other ids are ignored, such as those of records that were deleted since.

        Raises:
            InvalidInput: The other records are too few for the change.
        """
        kept = frozenset(ids) & {row.id for row in self.whole.view.rows if row.goes}
        if not kept or not isinstance(self.request, SparingRequest):
            return replace(self, plan=self.whole, kept=frozenset())
        return replace(self, plan=self.request.keep_records(sorted(kept)).propose(memory), kept=kept)


def offer(memory: MemorySystem, request: PlanRequest[Any], kept: Iterable[str] | None = None) -> Offer:
    """Return the offer of a request for the current store.

    Args:
        kept: Ids of removals to untick. None unticks those that tasks need, unless nothing would be left to apply.
    """
    whole = request.propose(memory)
    everything, loss = Offer(request=request, whole=whole, plan=whole), whole.view.loss
    if kept is not None:
        return everything.keeping(memory, kept)
    with suppress(InvalidInput):
        advised = everything.keeping(memory, () if loss is None else loss.ids_to_keep)
        return advised if advised.plan.view.button else everything
    return everything


def merge_words(noun: str, n_merged: int, n_kept: int, *, is_done: bool = False) -> str:
    """Return `Merge 3 concepts into 1`, or `Merged …` when it is done, or an empty string if there are no concepts."""
    verb = "Merged" if is_done else "Merge"
    return f"{verb} {counted(n_merged, noun)} into {n_kept:,}" if n_merged else ""


def merging_view(
    plan: GroupsPlan[Any], noun: str, rows: Iterable[PlanRow], *, caption: str, notes: Sequence[str] = ()
) -> PlanView:
    """Return the view of a plan that makes one record of each of its groups.

    Args:
        noun: The word for one of the records.
        rows: Each kept record, followed by the records that it replaces.
    """
    n_kept = len(plan.groups)
    n_merged = plan.n_removed + n_kept
    becoming = f"{counted(n_merged, noun)} would become {n_kept:,}"
    return PlanView(
        title="Merge",
        headline=f"{becoming}: {plan.n_removed:,} of {plan.n_total:,} would be deleted ({share_text(plan.share)}).",
        button=merge_words(noun, n_merged, n_kept),
        notes=tuple(notes),
        rows=tuple(rows),
        subject=noun.capitalize(),
        caption=caption,
        undo=undo_of_removals(plan.n_removed, noun),
        n_going=plan.n_removed,
        share=plan.share,
        loss=plan.loss,
    )


def deletion_words(n_going: int, n_total: int, noun: str) -> str:
    """Return `3 of 40 experiences would be deleted (8%)`."""
    share = n_going / n_total if n_total else 0.0
    return f"{n_going:,} of {counted(n_total, noun)} would be deleted ({share_text(share)})"


def share_words(n_going: int, n_total: int, noun: str) -> str:
    """Return `That is 8% of the 40 experiences.`, or an empty string if nothing would be deleted."""
    return f"That is {share_text(n_going / n_total)} of the {counted(n_total, noun)}." if n_going else ""


def deleting_view(
    rows: Iterable[PlanRow], noun: str, n_total: int, *, caption: str, notes: Sequence[str] = ()
) -> PlanView:
    """Return the view of a plan that deletes records.

    Args:
        rows: The records to remove, then the kept records that change as a result.
        noun: The word for one of the records.
        n_total: Number of records in all.
    """
    rows = tuple(rows)
    n_going = sum(row.goes for row in rows)
    share = n_going / n_total if n_total else 0.0
    return PlanView(
        title="Delete",
        headline=f"{deletion_words(n_going, n_total, noun)}.",
        share_sentence=share_words(n_going, n_total, noun),
        button=f"Delete {counted(n_going, noun)}" if n_going else "",
        notes=tuple(notes),
        rows=rows,
        subject=noun.capitalize(),
        caption=caption,
        undo=undo_of_removals(n_going, noun),
        is_deletion=True,
        n_chosen=n_going,
        n_going=n_going,
        share=share,
    )


def hiding_view(titles: Mapping[str, str], noun: str) -> PlanView:
    """Return the view of a plan that retires records: agents do not find them any more, and they are kept.

    Args:
        titles: Titles of the records, by id.
        noun: The word for one of the records.
    """
    many = counted(len(titles), noun)
    return PlanView(
        title="Retire",
        headline=f"Agents would not be given {many} any more.",
        button=f"Retire {many}" if titles else "",
        notes=(f"{'It is' if len(titles) == 1 else 'They are'} kept, and can be brought back.",) if titles else (),
        rows=tuple(PlanRow(id=record_id, title=title, goes=True, why="") for record_id, title in titles.items()),
        subject=noun.capitalize(),
        caption="What is retired",
        nothing="Nothing would be retired.",
        undo=f"Undo lets agents find {'it' if len(titles) == 1 else f'all {len(titles):,}'} again.",
        n_going=len(titles),
    )


def undo_of_removals(n: int, noun: str) -> str:
    """Return the sentence on where removed records are, and what undoing gives back."""
    return f"Undo brings {f'the {noun}' if n == 1 else f'all {counted(n, noun)}'} back from the trash, until a purge."


def gone_notes(n_gone: int) -> tuple[str, ...]:
    """Return the note that some of the chosen records were deleted, empty if all exist."""
    return (f"{n_gone:,} of those chosen {'is' if n_gone == 1 else 'are'} not there any more.",) if n_gone else ()
