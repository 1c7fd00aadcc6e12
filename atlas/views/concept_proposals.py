"""Merging and deleting concepts as they are proposed to a person: what would go, who would lack it, and doing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atlas.core.errors import PlanOutdated
from atlas.core.types import CodeConcept
from atlas.memory.concept_merging import ConceptMergeGroup, ConceptMergePlan
from atlas.memory.system import MemorySystem
from atlas.views.plans import PlanRow, PlanView, gone_notes
from atlas.views.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptMergeRequest:
    """Concepts that a person wants merged into one."""

    ids: tuple[str, ...]

    verb = "Merge"
    subject = "Concept"
    caption = "What is merged, the kept one first, and whose code calls what would be gone"

    def propose(self, memory: MemorySystem) -> ConceptProposal:
        """What it would do now; what is gone meanwhile is left out.

        Raises:
            InvalidInput: Fewer than two are left.
        """
        titles = memory.concepts.titles(self.ids)
        there = [concept_id for concept_id in self.ids if concept_id in titles]
        plan = memory.concepts.plan_merge([there])
        removed = tuple(one.id for group in plan.groups for one in group.removed)
        view = _merge_view(plan, len(self.ids) - len(there))
        return ConceptProposal(request=self, view=view, going=removed, n_before=plan.n_total, plan=plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptDeleteRequest:
    """Concepts that a person wants deleted."""

    ids: tuple[str, ...]

    verb = "Delete"
    subject = "Concept"
    caption = "What goes, and what would lack it"

    def propose(self, memory: MemorySystem) -> ConceptProposal:
        """What it would do now; what is gone meanwhile is left out."""
        going = memory.concepts.get_many(self.ids)
        n_total = memory.concepts.count()
        view = _delete_view(going, memory.concepts.dependents([one.id for one in going]), n_total, len(self.ids))
        return ConceptProposal(request=self, view=view, going=tuple(one.id for one in going), n_before=n_total)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptProposal:
    """A plan, and all that a person should see of it before it is applied."""

    request: ConceptMergeRequest | ConceptDeleteRequest
    view: PlanView
    going: tuple[str, ...]
    """The ids of what would go."""

    n_before: int
    """Concepts in the library."""

    plan: ConceptMergePlan | None = None
    """What merging would do; None for deleting."""

    @property
    def button(self) -> str:
        """What applying it is called: `Merge 2 concepts into 1`."""
        if self.plan is None:
            return f"Delete {counted(len(self.going), 'concept')}"
        return f"Merge {counted(len(self.going) + len(self.plan.groups), 'concept')} into {len(self.plan.groups):,}"

    @property
    def effect(self) -> tuple[tuple[str, str, str], ...]:
        """Figures as they would be: what of, how much, and from what."""
        return (("Concepts afterwards", f"{self.n_before - len(self.going):,}", f"from {self.n_before:,}"),)

    def apply(self, memory: MemorySystem) -> tuple[str, str]:
        """Do exactly this; the operation's id, and what was done in words of our own.

        Raises:
            PlanOutdated: The concepts have changed since; nothing was done.
        """
        if self.plan is not None:
            scoped = memory.concepts.within("merge", self.plan.reason)
            scoped.apply_merge(self.plan)
            return str(scoped.operation_id), self.button.replace("Merge", "Merged", 1)
        if self.request.propose(memory).view != self.view:
            raise PlanOutdated("the concepts have changed since this was planned; nothing was done. Plan anew")
        scoped = memory.concepts.within("delete")
        scoped.delete(list(self.going))
        return str(scoped.operation_id), self.button.replace("Delete", "Deleted", 1)


def _merge_view(plan: ConceptMergePlan, n_gone: int) -> PlanView:
    becoming = f"{counted(plan.n_removed + len(plan.groups), 'concept')} would become {len(plan.groups):,}"
    rows = [row for group in plan.groups for row in _group_rows(group)]
    rows += [
        PlanRow(id=one.id, title=one.name, goes=False, why=f"its code calls {', '.join(one.lacks)}; change it")
        for one in plan.lacking
    ]
    return PlanView(
        headline=f"{becoming}: {plan.n_removed:,} of {plan.n_total:,} would go ({plan.share:.1%}).",
        notes=(*gone_notes(n_gone), *_merge_notes(plan)),
        rows=tuple(rows),
        n_going=plan.n_removed,
        share=plan.share,
    )


def _merge_notes(plan: ConceptMergePlan) -> Iterator[str]:
    if plan.linked:
        yield f"{counted(len(plan.linked), 'other concept')} would then name the kept one."
    if plan.lacking:
        is_one = len(plan.lacking) == 1
        yield (
            f"The code of {counted(len(plan.lacking), 'concept')} calls what goes by a name that the kept one does not "
            f"have: {'it' if is_one else 'they'} would not run until somebody changes {'it' if is_one else 'them'}."
        )
    if n_left := sum(group.n_examples_left for group in plan.groups):
        yield f"{counted(n_left, 'example')} would be left out: they call a function of another name."


def _group_rows(group: ConceptMergeGroup) -> Iterator[PlanRow]:
    why = f"stays: {group.why_kept}; {_uses(group.merged)}"
    yield PlanRow(id=group.kept_id, title=group.merged.name, goes=False, why=why)
    for one in group.removed:
        yield PlanRow(id=one.id, title=one.name, goes=True, why=_uses(one))


def _delete_view(going: Sequence[CodeConcept], lacking: Sequence[CodeConcept], n_total: int, n_asked: int) -> PlanView:
    share = len(going) / n_total if n_total else 0.0
    gone = {one.id: one.name for one in going}
    calling = [one for one in lacking if any(called in gone for called in one.calls)]
    notes = [*gone_notes(n_asked - len(going))]
    if calling:
        many = f"{counted(len(calling), 'concept')} {'calls' if len(calling) == 1 else 'call'}"
        notes.append(f"{many} what would go, and would not run without it.")
    return PlanView(
        headline=f"{len(going):,} of {counted(n_total, 'concept')} would go ({share:.1%}).",
        notes=tuple(notes),
        rows=(
            *(PlanRow(id=one.id, title=one.name, goes=True, why=_uses(one)) for one in going),
            *(PlanRow(id=one.id, title=one.name, goes=False, why=_lack(one, gone)) for one in lacking),
        ),
        n_going=len(going),
        share=share,
    )


def _uses(concept: CodeConcept) -> str:
    return f"used {counted(concept.usage_count, 'time')}" if concept.usage_count else "never used"


def _lack(concept: CodeConcept, gone: dict[str, str]) -> str:
    calls = [gone[one] for one in concept.calls if one in gone]
    parts = [gone[one] for one in concept.composed_of if one in gone]
    said = [f"its code calls {', '.join(calls)}"] if calls else []
    return "; ".join([*said, *([f"was composed of {', '.join(parts)}"] if parts else [])])
