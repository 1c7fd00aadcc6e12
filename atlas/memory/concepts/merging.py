"""Plans to merge duplicate concepts: the kept concept, the values that it takes over, and affected callers.

The functions are pure: they map concepts to a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any, ClassVar

from atlas.core.errors import InvalidInput
from atlas.core.filters import with_shared_scope
from atlas.core.operations import Marks
from atlas.core.types import CodeConcept
from atlas.memory.base.merging import GroupsPlan, join_distinct, make_store_merge, merge_marks, merged_record_ids
from atlas.memory.concepts.records import PYTHON, defined_names, merged_hashes, to_entry, undefined_calls
from atlas.storage.records import Merge, Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptMergeCandidate:
    """A concept with the data that merging needs."""

    concept: CodeConcept
    marks: Marks
    content_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptMergeGroup:
    """Concepts that are merged into one."""

    merged: CodeConcept
    """The kept concept after the merge: its own code, with additions from the others."""

    why_kept: str
    removed: tuple[CodeConcept, ...]
    marks: Marks
    """The kept concept's marks after the merge."""

    n_dropped_examples: int
    """Number of examples that are lost, because they call a function with another name."""

    @property
    def kept_id(self) -> str:
        """Id of the concept that stays."""
        return self.merged.id


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenCaller:
    """A concept whose code would call undefined functions after the merge."""

    id: str
    name: str
    lacks: tuple[str, ...]
    """Names of the functions that would be undefined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptMergePlan(GroupsPlan[ConceptMergeGroup]):
    """A plan to merge concepts."""

    memory: ClassVar[str] = "concepts"

    relinked_callers: tuple[ConceptMergeCandidate, ...]
    """Callers of removed concepts, with references to the kept concept instead."""

    broken_callers: tuple[BrokenCaller, ...]
    """Callers whose code must be changed by hand."""


def plan_concept_merge(
    groups: Sequence[Sequence[str]],
    candidates: Mapping[str, ConceptMergeCandidate],
    callers: Sequence[ConceptMergeCandidate],
    *,
    n_total: int,
    moment: Moment,
) -> ConceptMergePlan:
    """Return a plan to merge each group of concepts into one.

    Args:
        callers: All concepts that call one of the candidates, or were composed of one.

    Raises:
        InvalidInput: A concept does not exist.
    """
    for concept_id in chain.from_iterable(groups):
        if concept_id not in candidates:
            raise InvalidInput(f"there is no concept {concept_id!r} to merge; it may have been deleted")
    best_and_duplicates = [_split_off_best([candidates[concept_id] for concept_id in ids]) for ids in groups]
    survivors_by_removed_id = {
        duplicate.concept.id: best.concept for best, duplicates in best_and_duplicates for duplicate in duplicates
    }
    merge_groups = tuple(
        _merge_group(best, duplicates, survivors_by_removed_id, candidates) for best, duplicates in best_and_duplicates
    )
    outside_callers = [candidate for candidate in callers if candidate.concept.id not in candidates]
    relinked_callers = [
        replace(candidate, concept=_relink(candidate.concept, survivors_by_removed_id, candidates))
        for candidate in outside_callers
    ]
    return ConceptMergePlan(
        groups=merge_groups,
        relinked_callers=tuple(
            relinked_caller
            for relinked_caller, caller in zip(relinked_callers, outside_callers, strict=True)
            if relinked_caller != caller
        ),
        broken_callers=tuple(
            _broken_callers(
                [*(best for best, _ in best_and_duplicates), *outside_callers], survivors_by_removed_id, candidates
            )
        ),
        n_total=n_total,
        moment=moment,
    )


def build_merges(plan: ConceptMergePlan, rows: Mapping[str, Mapping[str, Any]]) -> list[Merge]:
    """Return the merges of a plan in the form of the store: one for each group and one for each changed caller.

    Args:
        rows: Rows of the kept and the linked concepts, keyed by id.

    Raises:
        PlanOutdated: A kept or linked concept was deleted.
    """
    merges = [
        _to_store_merge(group.merged, group.marks, [concept.id for concept in group.removed], rows)
        for group in plan.groups
    ]
    return merges + [
        _to_store_merge(candidate.concept, candidate.marks, [], rows) for candidate in plan.relinked_callers
    ]


def _to_store_merge(
    concept: CodeConcept, marks: Marks, removed_ids: list[str], rows: Mapping[str, Mapping[str, Any]]
) -> Merge:
    return make_store_merge(rows.get(concept.id), concept.id, to_entry(concept).metadata, removed_ids, marks)


def _split_off_best(
    candidates: Sequence[ConceptMergeCandidate],
) -> tuple[ConceptMergeCandidate, list[ConceptMergeCandidate]]:
    """Return the concept to keep, and the other concepts. The most used is kept, or the oldest in a tie."""
    best = max(
        candidates, key=lambda candidate: (candidate.concept.usage_count, -_created_timestamp(candidate.concept))
    )
    return best, [candidate for candidate in candidates if candidate is not best]


def _created_timestamp(concept: CodeConcept) -> float:
    return (concept.created_at or datetime.max.replace(tzinfo=UTC)).timestamp()


def _merge_group(
    best: ConceptMergeCandidate,
    duplicates: Sequence[ConceptMergeCandidate],
    survivors_by_removed_id: Mapping[str, CodeConcept],
    candidates: Mapping[str, ConceptMergeCandidate],
) -> ConceptMergeGroup:
    """Return the merge of a group: the best concept, with the additions from its duplicates.

    Args:
        survivors_by_removed_id: The concept that replaces each removed one in any group, keyed by the removed one's id.
        candidates: All concepts to merge, keyed by id.
    """
    survivor = best.concept
    duplicate_concepts = [duplicate.concept for duplicate in duplicates]
    survivor_names = defined_names(survivor)
    concepts_with_usable_examples = [
        concept
        for concept in duplicate_concepts
        if concept.language == survivor.language and defined_names(concept) & survivor_names
    ]
    examples = tuple(
        dict.fromkeys(example for concept in (survivor, *concepts_with_usable_examples) for example in concept.examples)
    )
    lineages = ([concept.id, *merged_record_ids(concept.metadata)] for concept in duplicate_concepts)
    hashes = ([duplicate.content_hash, *merged_hashes(duplicate.concept)] for duplicate in duplicates)
    merged_concept = replace(
        survivor,
        examples=examples,
        found_in=join_distinct(survivor.found_in, *(concept.found_in for concept in duplicate_concepts)),
        composed_of=join_distinct(survivor.composed_of, *(concept.composed_of for concept in duplicate_concepts)),
        metadata={
            **with_shared_scope(survivor.metadata, (concept.metadata for concept in (survivor, *duplicate_concepts))),
            "merged_from": [*join_distinct(merged_record_ids(survivor.metadata), *lineages)],
            "merged_hashes": [*join_distinct(merged_hashes(survivor), *hashes)],
        },
    )
    return ConceptMergeGroup(
        merged=_relink(merged_concept, survivors_by_removed_id, candidates),
        why_kept=_reason_kept(survivor, duplicate_concepts),
        removed=tuple(duplicate_concepts),
        marks=merge_marks([best.marks, *(duplicate.marks for duplicate in duplicates)]),
        n_dropped_examples=sum(len(set(concept.examples) - set(examples)) for concept in duplicate_concepts),
    )


def _reason_kept(survivor: CodeConcept, duplicates: Sequence[CodeConcept]) -> str:
    if all(survivor.usage_count > concept.usage_count for concept in duplicates):
        return "it was used most"
    return "it is the oldest" if not survivor.usage_count else "it is the oldest of the most used"


def _relink(
    concept: CodeConcept,
    survivors_by_removed_id: Mapping[str, CodeConcept],
    candidates: Mapping[str, ConceptMergeCandidate],
) -> CodeConcept:
    """Return a concept with references to removed concepts replaced by references to the kept concepts."""
    calls = list[str]()
    for called_id in concept.calls:
        survivor = survivors_by_removed_id.get(called_id)
        is_replaced = survivor is not None and not _undefined_names(concept, candidates[called_id].concept, survivor)
        calls.append(survivor.id if survivor is not None and is_replaced else called_id)
    parts = [
        survivors_by_removed_id[part].id if part in survivors_by_removed_id else part for part in concept.composed_of
    ]
    return replace(concept, calls=_distinct_except(calls, concept.id), composed_of=_distinct_except(parts, concept.id))


def _distinct_except(ids: Iterable[str], excluded_id: str) -> tuple[str, ...]:
    return tuple(concept_id for concept_id in dict.fromkeys(ids) if concept_id != excluded_id)


def _undefined_names(caller: CodeConcept, duplicate: CodeConcept, survivor: CodeConcept) -> set[str]:
    """Return the names under which a caller calls a removed concept, without names that the kept concept defines."""
    if caller.language != PYTHON:
        return {duplicate.name} - {survivor.name}
    return (undefined_calls(caller) & defined_names(duplicate) or {duplicate.name}) - defined_names(survivor)


def _broken_callers(
    callers: Sequence[ConceptMergeCandidate],
    survivors_by_removed_id: Mapping[str, CodeConcept],
    candidates: Mapping[str, ConceptMergeCandidate],
) -> Iterable[BrokenCaller]:
    """Yield the callers of removed concepts whose code would call undefined functions after the merge."""
    for caller in (candidate.concept for candidate in callers):
        removed_callee_ids = [concept_id for concept_id in caller.calls if concept_id in survivors_by_removed_id]
        undefined_names = {
            name
            for concept_id in removed_callee_ids
            for name in _undefined_names(caller, candidates[concept_id].concept, survivors_by_removed_id[concept_id])
        }
        if undefined_names:
            yield BrokenCaller(id=caller.id, name=caller.name, lacks=tuple(sorted(undefined_names)))
