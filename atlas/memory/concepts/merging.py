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
from atlas.memory.base.merging import GroupsPlan, join_distinct, lineage, merge_marks, merge_row
from atlas.memory.concepts.records import PYTHON, defined_names, merged_hashes, to_entry, undefined_calls
from atlas.storage.records import Merge, Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptSubject:
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

    rewired_callers: tuple[ConceptSubject, ...]
    """Callers of removed concepts, with references to the kept concept instead."""

    broken_callers: tuple[BrokenCaller, ...]
    """Callers whose code must be changed by hand."""


def plan_concept_merge(
    groups: Sequence[Sequence[str]],
    subjects: Mapping[str, ConceptSubject],
    callers: Sequence[ConceptSubject],
    *,
    n_total: int,
    moment: Moment,
) -> ConceptMergePlan:
    """Return a plan to merge each group of concepts into one.

    Args:
        callers: All concepts that call a subject or were composed of one.

    Raises:
        InvalidInput: A concept does not exist.
    """
    for concept_id in chain.from_iterable(groups):
        if concept_id not in subjects:
            raise InvalidInput(f"there is no concept {concept_id!r} to merge; it may have been deleted")
    split_groups = [_split_off_best([subjects[concept_id] for concept_id in ids]) for ids in groups]
    survivors = {duplicate.concept.id: best.concept for best, duplicates in split_groups for duplicate in duplicates}
    planned = tuple(_merge_group(best, duplicates, survivors, subjects) for best, duplicates in split_groups)
    outside = [subject for subject in callers if subject.concept.id not in subjects]
    linked = [replace(subject, concept=_relink(subject.concept, survivors, subjects)) for subject in outside]
    return ConceptMergePlan(
        groups=planned,
        rewired_callers=tuple(after for after, before in zip(linked, outside, strict=True) if after != before),
        broken_callers=tuple(_broken_callers([*(best for best, _ in split_groups), *outside], survivors, subjects)),
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
    merges = [_to_store_merge(group.merged, group.marks, [c.id for c in group.removed], rows) for group in plan.groups]
    return merges + [_to_store_merge(subject.concept, subject.marks, [], rows) for subject in plan.rewired_callers]


def _to_store_merge(
    concept: CodeConcept, marks: Marks, removed: list[str], rows: Mapping[str, Mapping[str, Any]]
) -> Merge:
    return merge_row(rows.get(concept.id), concept.id, to_entry(concept).metadata, removed, marks)


def _split_off_best(subjects: Sequence[ConceptSubject]) -> tuple[ConceptSubject, list[ConceptSubject]]:
    """Return the concept to keep, and the other concepts. The most used is kept, or the oldest in a tie."""
    best = max(subjects, key=lambda subject: (subject.concept.usage_count, -_age_key(subject.concept)))
    return best, [subject for subject in subjects if subject is not best]


def _age_key(concept: CodeConcept) -> float:
    return (concept.created_at or datetime.max.replace(tzinfo=UTC)).timestamp()


def _merge_group(
    best: ConceptSubject,
    duplicates: Sequence[ConceptSubject],
    survivors: Mapping[str, CodeConcept],
    subjects: Mapping[str, ConceptSubject],
) -> ConceptMergeGroup:
    survivor = best.concept
    duplicate_concepts = [duplicate.concept for duplicate in duplicates]
    names = defined_names(survivor)
    fitting = [c for c in duplicate_concepts if c.language == survivor.language and defined_names(c) & names]
    examples = tuple(dict.fromkeys(example for concept in (survivor, *fitting) for example in concept.examples))
    lineages = ([concept.id, *lineage(concept.metadata)] for concept in duplicate_concepts)
    hashes = ([duplicate.content_hash, *merged_hashes(duplicate.concept)] for duplicate in duplicates)
    merged = replace(
        survivor,
        examples=examples,
        found_in=join_distinct(survivor.found_in, *(concept.found_in for concept in duplicate_concepts)),
        composed_of=join_distinct(survivor.composed_of, *(concept.composed_of for concept in duplicate_concepts)),
        metadata={
            **with_shared_scope(survivor.metadata, (concept.metadata for concept in (survivor, *duplicate_concepts))),
            "merged_from": [*join_distinct(lineage(survivor.metadata), *lineages)],
            "merged_hashes": [*join_distinct(merged_hashes(survivor), *hashes)],
        },
    )
    return ConceptMergeGroup(
        merged=_relink(merged, survivors, subjects),
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
    concept: CodeConcept, survivors: Mapping[str, CodeConcept], subjects: Mapping[str, ConceptSubject]
) -> CodeConcept:
    """Return a concept with references to removed concepts replaced by references to the kept concepts."""
    calls = list[str]()
    for called_id in concept.calls:
        survivor = survivors.get(called_id)
        is_replaced = survivor is not None and not _undefined_names(concept, subjects[called_id].concept, survivor)
        calls.append(survivor.id if survivor is not None and is_replaced else called_id)
    parts = [survivors[part].id if part in survivors else part for part in concept.composed_of]
    return replace(concept, calls=_distinct_except(calls, concept.id), composed_of=_distinct_except(parts, concept.id))


def _distinct_except(ids: Iterable[str], left_out: str) -> tuple[str, ...]:
    return tuple(concept_id for concept_id in dict.fromkeys(ids) if concept_id != left_out)


def _undefined_names(caller: CodeConcept, duplicate: CodeConcept, survivor: CodeConcept) -> set[str]:
    """Return the names under which a caller calls a removed concept, without names that the kept concept defines."""
    if caller.language != PYTHON:
        return {duplicate.name} - {survivor.name}
    return (undefined_calls(caller) & defined_names(duplicate) or {duplicate.name}) - defined_names(survivor)


def _broken_callers(
    callers: Sequence[ConceptSubject], survivors: Mapping[str, CodeConcept], subjects: Mapping[str, ConceptSubject]
) -> Iterable[BrokenCaller]:
    for caller in (subject.concept for subject in callers):
        called = [concept_id for concept_id in caller.calls if concept_id in survivors]
        lacks = {
            name
            for concept_id in called
            for name in _undefined_names(caller, subjects[concept_id].concept, survivors[concept_id])
        }
        if lacks:
            yield BrokenCaller(id=caller.id, name=caller.name, lacks=tuple(sorted(lacks)))
