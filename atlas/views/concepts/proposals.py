"""Plans to merge and delete concepts, with the other concepts that depend on the removed ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from atlas.core.types import CodeConcept
from atlas.memory.concepts.merging import ConceptMergeGroup, ConceptMergePlan
from atlas.memory.system import MemorySystem
from atlas.views.kinds.concept import CONCEPT
from atlas.views.shared.plans import PlanRow, PlanView, deleting_view, gone_notes, merging_view
from atlas.views.shared.wording import counted


def delete_view(memory: MemorySystem, ids: Sequence[str]) -> PlanView:
    """Return the view of a plan to delete concepts, without those that are deleted already."""
    removed = memory.concepts.get_many(ids)
    dependents = memory.concepts.dependents([concept.id for concept in removed])
    return _delete_view(removed, dependents, memory.concepts.count(), len(ids))


def merge_view(plan: ConceptMergePlan, n_gone: int) -> PlanView:
    """Return the view of a plan that merges concepts.

    Args:
        n_gone: Number of chosen records that were deleted.
    """
    rows = [row for group in plan.groups for row in _group_rows(group)]
    rows += [
        PlanRow(
            id=concept.id, title=concept.name, goes=False, why=f"its code calls {', '.join(concept.lacks)}; change it"
        )
        for concept in plan.broken_callers
    ]
    return merging_view(
        plan,
        CONCEPT.noun,
        rows,
        caption="What is merged, the kept one first, and concepts whose code calls a merged one",
        notes=[*gone_notes(n_gone), *_merge_notes(plan)],
    )


def _merge_notes(plan: ConceptMergePlan) -> Iterator[str]:
    if plan.relinked_callers:
        yield f"{counted(len(plan.relinked_callers), 'other concept')} would then refer to the kept one."
    if n_broken := len(plan.broken_callers):
        subject, object = ("it", "it") if n_broken == 1 else ("they", "them")
        yield (
            f"The code of {counted(n_broken, 'concept')} calls a merged concept by a name that the kept one lacks: "
            f"{subject} would not run until somebody changes {object}."
        )
    if n_dropped := sum(group.n_dropped_examples for group in plan.groups):
        yield f"{counted(n_dropped, 'example')} would be left out: they call a function of another name."


def _group_rows(group: ConceptMergeGroup) -> Iterator[PlanRow]:
    kept_reason = f"stays: {group.why_kept}; {_uses_text(group.merged)}"
    yield PlanRow(id=group.kept_id, title=group.merged.name, goes=False, why=kept_reason)
    for removed in group.removed:
        yield PlanRow(id=removed.id, title=removed.name, goes=True, why=_uses_text(removed))


def _delete_view(
    removed: Sequence[CodeConcept], dependents: Sequence[CodeConcept], n_total: int, n_asked: int
) -> PlanView:
    deleted_names = {concept.id: concept.name for concept in removed}
    callers = [concept for concept in dependents if any(called in deleted_names for called in concept.calls)]
    notes = [*gone_notes(n_asked - len(removed))]
    if callers:
        subject = f"{counted(len(callers), 'concept')} {'calls' if len(callers) == 1 else 'call'}"
        notes.append(f"{subject} a concept that would be deleted, and would not run without it.")
    rows = [
        *(PlanRow(id=concept.id, title=concept.name, goes=True, why=_uses_text(concept)) for concept in removed),
        *(
            PlanRow(id=concept.id, title=concept.name, goes=False, why=_missing_parts(concept, deleted_names))
            for concept in dependents
        ),
    ]
    return deleting_view(rows, CONCEPT.noun, n_total, caption="What is deleted, and what depends on it", notes=notes)


def _uses_text(concept: CodeConcept) -> str:
    return f"used {counted(concept.usage_count, 'time')}" if concept.usage_count else "never used"


def _missing_parts(concept: CodeConcept, deleted_names: dict[str, str]) -> str:
    calls = [deleted_names[concept_id] for concept_id in concept.calls if concept_id in deleted_names]
    parts = [deleted_names[concept_id] for concept_id in concept.composed_of if concept_id in deleted_names]
    reasons = [f"its code calls {', '.join(calls)}"] if calls else []
    return "; ".join([*reasons, *([f"was composed of {', '.join(parts)}"] if parts else [])])
