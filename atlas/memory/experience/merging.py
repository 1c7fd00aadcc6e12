"""Plans to merge duplicate attempts: the kept attempt, and the values that it takes over from the others.

The functions are pure: they map records to a plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

from atlas.core.errors import InvalidInput
from atlas.core.filters import with_shared_scope
from atlas.core.operations import Marks
from atlas.core.types import OUTCOMES as OUTCOMES
from atlas.core.types import Experience
from atlas.memory.base.merging import GroupsPlan, join_distinct, make_store_merge, merge_marks, merged_record_ids
from atlas.memory.experience.extraction import ARM, SHARE, merged_attempts, to_metadata
from atlas.storage.records import Merge, Moment

COMMON_KEY = "is_sample"
"""Metadata key that stays only if all merged records have it. So removing sample data removes no real attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedExperience:
    """An experience that a merge removes, because the kept one replaces it."""

    id: str
    title: str
    outcome: str
    """`succeeded`, `failed` or `unknown`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCandidate:
    """An experience with the data that a merge needs."""

    experience: Experience
    title: str
    marks: Marks
    content_hash: str
    """Hash of the original attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeGroup:
    """A group of experiences to be merged into one of them."""

    kept_id: str
    kept_title: str
    why_kept: str
    removed: tuple[MergedExperience, ...]
    merged: Experience
    """The kept record after the merge, with metadata on the merged attempts."""

    marks: Marks
    """The kept record's marks after the merge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan(GroupsPlan[MergeGroup]):
    """A plan to merge attempts."""

    memory: ClassVar[str] = "experience"


def plan_merge(
    groups: Sequence[Sequence[str]],
    candidates: Mapping[str, MergeCandidate],
    *,
    n_total: int,
    moment: Moment,
    keep_first: bool = False,
) -> MergePlan:
    """Return a plan to merge each group of experiences into one.

    Args:
        keep_first: Whether to keep the first record of each group instead of the best.

    Raises:
        InvalidInput: A record does not exist.
    """
    for record_id in chain.from_iterable(groups):
        if record_id not in candidates:
            raise InvalidInput(f"there is no record {record_id!r} to merge; it may have been deleted")
    candidate_groups = [[candidates[record_id] for record_id in ids] for ids in groups]
    merge_groups = tuple(
        _plan_group(group, group[0] if keep_first else max(group, key=_merge_preference)) for group in candidate_groups
    )
    return MergePlan(groups=merge_groups, n_total=n_total, moment=moment)


def build_merge(group: MergeGroup, row: Mapping[str, Any] | None) -> Merge:
    """Return the merge of a group in the form for a store.

    Raises:
        PlanOutdated: The kept record was deleted.
    """
    # Keep the hash of the original attempt, so that importing it again finds the record.
    content_hash = {} if row is None else {"content_hash": row["metadata"]["content_hash"]}
    removed_ids = tuple(attempt.id for attempt in group.removed)
    return make_store_merge(row, group.kept_id, to_metadata(group.merged) | content_hash, removed_ids, group.marks)


def _plan_group(candidates: Sequence[MergeCandidate], best: MergeCandidate) -> MergeGroup:
    """Return the merge of a group into its best record, whose metadata lists all merged attempts."""
    duplicates = [candidate for candidate in candidates if candidate is not best]
    merged_from = join_distinct(
        merged_record_ids(best.experience.metadata),
        *(_own_and_merged_ids(duplicate.experience) for duplicate in duplicates),
    )
    attempts = _attempts_by_experience([best, *duplicates])
    metadata = {
        **_shared_metadata(best, duplicates),
        "merged_from": [record_id for record_id in merged_from if record_id != best.experience.id],
        "merged_outcomes": _count_outcomes(attempts),
        "merged_attempts": {
            record_id: attempt for record_id, attempt in attempts.items() if record_id != best.experience.id
        },
    }
    return MergeGroup(
        kept_id=best.experience.id,
        kept_title=best.title,
        why_kept=_reason_kept(best, candidates),
        removed=tuple(_to_merged_experience(duplicate) for duplicate in duplicates),
        merged=replace(best.experience, metadata=metadata),
        marks=merge_marks([best.marks, *(duplicate.marks for duplicate in duplicates)]),
    )


def _merge_preference(candidate: MergeCandidate) -> tuple[int, float, Any]:
    experience = candidate.experience
    rank = {True: 2, None: 1, False: 0}[experience.success]
    return rank, experience.outcome.partial_score or 0.0, experience.created_at


def _reason_kept(best: MergeCandidate, candidates: Sequence[MergeCandidate]) -> str:
    """Return the reason why a record is kept: its outcome and, among several with this outcome, its score or age."""
    label = best.experience.outcome.label
    n_same = sum(candidate.experience.outcome.label == label for candidate in candidates)
    reasons = {"succeeded": "it succeeded", "failed": "all failed", "unknown": "none is known to have succeeded"}[label]
    if n_same == 1:
        return reasons
    scores = {candidate.experience.outcome.partial_score for candidate in candidates}
    return f"{reasons}; of {n_same} it is {'the best or newest' if len(scores) > 1 else 'the newest'}"


def _own_and_merged_ids(experience: Experience) -> list[str]:
    return [experience.id, *merged_record_ids(experience.metadata)]


def _shared_metadata(best: MergeCandidate, duplicates: Sequence[MergeCandidate]) -> dict[str, Any]:
    """Return the best record's metadata, without what not all records share.

    The scope is reduced to the shared part, and `COMMON_KEY` is left out if a record lacks it.
    """
    all_have_common_key = all(duplicate.experience.metadata.get(COMMON_KEY) for duplicate in duplicates)
    metadata = {
        name: value for name, value in best.experience.metadata.items() if all_have_common_key or name != COMMON_KEY
    }
    return with_shared_scope(metadata, (candidate.experience.metadata for candidate in (best, *duplicates)))


def _attempts_by_experience(candidates: Sequence[MergeCandidate]) -> dict[str, dict[str, str]]:
    """Return the data of each merged attempt for the metadata, keyed by the id of the attempt's experience.

    The data are outcome, content hash, id and holdout group. Attempts that were merged earlier are included, unless the
    candidates contain newer data of the same attempt.
    """
    attempts: dict[str, dict[str, str]] = {}
    for candidate in candidates:
        attempts |= merged_attempts(candidate.experience.metadata)
    for candidate in candidates:
        experience = candidate.experience
        attempt = {
            "outcome": experience.outcome.label,
            "content_hash": candidate.content_hash,
            "trajectory_id": experience.trajectory_id,
            **{name: str(experience.metadata[name]) for name in (ARM, SHARE) if name in experience.metadata},
        }
        attempts[experience.id] = attempt
    return attempts


def _count_outcomes(attempts: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    counts = Counter(attempt["outcome"] for attempt in attempts.values())
    return {label: counts[label] for label in OUTCOMES if counts[label]}


def _to_merged_experience(candidate: MergeCandidate) -> MergedExperience:
    return MergedExperience(
        id=candidate.experience.id, title=candidate.title, outcome=candidate.experience.outcome.label
    )
