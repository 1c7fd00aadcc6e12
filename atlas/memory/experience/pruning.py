"""Plans to prune records.

The functions are pure: they map records to a plan. The plan lists the records to remove, each with the criteria that it
meets, and the records that meet a criterion but are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, Usage
from atlas.core.tables import TableRow, Tabular
from atlas.core.types import Outcome, Vectors
from atlas.memory.loss import CurationLoss, reason_with_loss
from atlas.storage.records import NO_MOMENT, Moment

NEIGHBOUR_SIMILARITY = 0.8
"""Minimum cosine of two records in the same neighbourhood."""

CHOICE_REASON = "chosen"
"""Reason to remove a record that a person chose without a criterion."""

EXCLUSION_REASON = "you keep it"
"""Reason why a record that a person excluded is not removed."""

BLOCK = 1_000
"""Number of vectors compared with all others at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneCriteria:
    """The criteria of a prune. A record that meets any of them is removed. None disables a criterion."""

    min_success_rate: float | None = None
    """Lowest success rate to keep, in [0, 1]. A record without a known outcome stays."""

    max_age_days: float | None = None
    """Age from which attempts are removed."""

    never_retrieved_days: float | None = None
    """Days without a retrieval, counted from storage or the last retrieval, after which records are removed."""

    max_count: int | None = None
    """Number of records to keep: the least successful are removed first, then the oldest."""

    keep_diverse: bool = False
    """True to keep the best record of each neighbourhood that would otherwise be removed completely."""

    tag: str | None = None
    """Tag of the only records that may be removed. Without a further criterion, all of them are removed."""

    @classmethod
    def parse(cls, criteria: Mapping[str, Any]) -> PruneCriteria:
        """Return the criteria in a dict from names to values.

        Raises:
            InvalidInput: An unknown criterion or an invalid value.
        """
        names = [criterion.name for criterion in fields(cls)]
        for name in criteria:
            if name not in names:
                raise InvalidInput(f"expected one of {', '.join(names)} for a prune criterion, got {name!r}")
        parsed = cls(**criteria)
        parsed.check()
        return parsed

    def enabled_values(self) -> dict[str, Any]:
        """Return the values of the enabled criteria, keyed by name."""
        values = {criterion.name: getattr(self, criterion.name) for criterion in fields(self)}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    def reason(self) -> str:
        """Return the criteria as the reason to show in the history."""
        return ", ".join(f"{name} {value}" for name, value in self.enabled_values().items())

    def check(self) -> None:
        """Raise `InvalidInput` if a criterion has an invalid value."""
        if self.tag is not None and (not isinstance(self.tag, str) or not self.tag):
            raise InvalidInput(f"expected a tag's name or None for tag, got {self.tag!r:.80}")
        _check_number("min_success_rate", self.min_success_rate, 0, 1)
        _check_number("max_age_days", self.max_age_days, 0, float("inf"))
        _check_number("never_retrieved_days", self.never_retrieved_days, 0, float("inf"))
        _check_number("max_count", self.max_count, 0, float("inf"))
        if self.max_count is not None and not isinstance(self.max_count, int):
            raise InvalidInput(f"expected a whole number for max_count, got {self.max_count!r}")
        if not isinstance(self.keep_diverse, bool):
            raise InvalidInput(f"expected true or false for keep_diverse, got {self.keep_diverse!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneCandidate:
    """An experience with the data that a prune needs."""

    id: str
    title: str
    success: bool | None
    created_at: datetime | None
    """Time of the attempt, or None if unknown."""

    stored_at: datetime | None
    """Time of storage, or None if unknown."""

    usage: Usage = NO_USAGE
    marks: Marks = NO_MARKS

    @property
    def success_rate(self) -> float | None:
        """Mean of the experience's outcome and the outcomes of attempts that used it, or None if all are unknown."""
        outcomes = [] if self.success is None else [float(self.success)]
        n_known = len(outcomes) + self.usage.n_uses
        return (sum(outcomes) + self.usage.n_successes) / n_known if n_known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneDecision:
    """The decision on an experience that meets a criterion: it is removed, or kept for a reason."""

    id: str
    title: str
    reasons: tuple[str, ...]
    """Criteria that the record meets, with the record's values."""

    saved_because: str = ""
    """Reason why the record is kept, or empty for a removed record."""

    outcome: str = ""
    """`succeeded`, `failed` or `unknown`, or empty in a plan for records chosen by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePlan(Tabular):
    """A plan to prune. Applying it makes exactly these changes, or fails if the store has changed."""

    memory: ClassVar[str] = "experience"

    criteria: PruneCriteria
    removals: tuple[PruneDecision, ...]
    saved: tuple[PruneDecision, ...]
    n_total: int
    """Number of records in the store when the plan was made."""

    n_judged: int
    """Number of judged records: all, or only the chosen ones, or only those with the tag."""

    n_gone: int = 0
    """Number of chosen ids without a record."""

    missing: Mapping[str, int]
    """Number of records that lack the value for a criterion, keyed by criterion. The criterion ignores these."""

    moment: Moment = NO_MOMENT
    """Moment in the store's history at which the plan was made."""

    usage: Mapping[str, Usage]
    """Usage of the removed records at the time of the plan."""

    loss: CurationLoss | None = None
    """Loss to agents, or None if it was not measured. See `MemorySystem.with_loss`."""

    @property
    def replacements(self) -> dict[str, str]:
        """An empty string for each removed record, keyed by id, because no record is merged into another."""
        return dict.fromkeys((decision.id for decision in self.removals), "")

    @property
    def share(self) -> float:
        """Share of the memory's records that would be removed, in [0, 1]."""
        return len(self.removals) / self.n_total if self.n_total else 0.0

    @property
    def n_unknown(self) -> int:
        """Number of records with an unknown outcome, which `min_success_rate` could not judge."""
        return self.missing.get("min_success_rate", 0)

    @property
    def reason(self) -> str:
        """The reason shown in the history."""
        reason = self.criteria.reason()
        if self.n_judged != self.n_total:
            reason = f"{reason or CHOICE_REASON}, among {self.n_judged}"
        return reason_with_loss(reason, self.loss)

    def _caption(self) -> str:
        return f"{len(self.removals):,} of {self.n_total:,} records would be removed ({self.share:.1%})"

    def _rows(self) -> Iterator[TableRow]:
        for decision in (*self.removals, *self.saved):
            yield {
                "record": decision.title,
                "outcome": decision.outcome,
                "would be": f"kept: {decision.saved_because}" if decision.saved_because else "removed",
                "reasons": ", ".join(decision.reasons),
            }


def plan_prune(
    candidates: Sequence[PruneCandidate],
    vectors: Vectors | None,
    criteria: PruneCriteria,
    now: datetime,
    *,
    n_total: int | None = None,
    moment: Moment = NO_MOMENT,
    among: Sequence[str] | None = None,
    keep: Collection[str] = (),
) -> PrunePlan:
    """Return a plan to prune. A criterion ignores records that lack its value.

    Args:
        candidates: Every record of the store; without `keep_diverse`, the chosen ones are enough.
        vectors: Vectors of the candidates, shape (n_candidates, dim), for `keep_diverse` only.
        n_total: Records in the store; None if `candidates` are all of them.
        moment: Moment in the store's history at which `candidates` were read.
        among: Ids of the only records that may be removed. Without criteria, all of these are removed.
        keep: Ids of records that are kept in any case. They do not change the decisions on other records.
    """
    selected_ids = None if among is None else set(among)
    existing_candidates = [
        candidate for candidate in candidates if selected_ids is None or candidate.id in selected_ids
    ]
    judged = [
        candidate for candidate in existing_candidates if criteria.tag is None or criteria.tag in candidate.marks.tags
    ]
    reasons = _all_reasons_to_remove(judged, criteria, now, is_chosen=selected_ids is not None)
    to_remove = [candidate for candidate in judged if reasons[candidate.id]]
    reasons_to_keep = {candidate.id: "it is pinned" for candidate in to_remove if candidate.marks.pinned}
    if criteria.keep_diverse and vectors is not None:
        removed_ids = {candidate.id for candidate in to_remove} - reasons_to_keep.keys()
        reasons_to_keep |= _best_of_lost_neighbourhoods(candidates, vectors, removed_ids)
    reasons_to_keep = {
        candidate.id: EXCLUSION_REASON for candidate in to_remove if candidate.id in keep
    } | reasons_to_keep
    decisions = [
        PruneDecision(
            id=candidate.id,
            title=candidate.title,
            reasons=tuple(reasons[candidate.id]),
            saved_because=reasons_to_keep.get(candidate.id, ""),
            outcome=Outcome(candidate.success).label,
        )
        for candidate in to_remove
    ]
    return PrunePlan(
        criteria=criteria,
        removals=tuple(decision for decision in decisions if not decision.saved_because),
        saved=tuple(decision for decision in decisions if decision.saved_because),
        n_total=len(candidates) if n_total is None else n_total,
        n_judged=len(judged),
        n_gone=0 if selected_ids is None else len(selected_ids) - len(existing_candidates),
        missing=_count_missing_values(judged, criteria),
        moment=moment,
        usage={candidate.id: candidate.usage for candidate in to_remove if candidate.id not in reasons_to_keep},
    )


def _all_reasons_to_remove(
    judged: Sequence[PruneCandidate], criteria: PruneCriteria, now: datetime, *, is_chosen: bool
) -> dict[str, list[str]]:
    """Return the reasons to remove each record, keyed by id.

    Without other criteria, the only reason is the tag or the choice by a person.
    """
    further_criteria = set(criteria.enabled_values()) - {"tag", "keep_diverse"}
    if not further_criteria and criteria.tag:
        return {candidate.id: [f"tagged {criteria.tag}"] for candidate in judged}
    if not further_criteria and is_chosen:
        return {candidate.id: [CHOICE_REASON] for candidate in judged}
    reasons = {candidate.id: _reasons_to_remove(candidate, criteria, now) for candidate in judged}
    _add_surplus_reasons(judged, reasons, criteria)
    return reasons


def _reasons_to_remove(candidate: PruneCandidate, criteria: PruneCriteria, now: datetime) -> list[str]:
    """Return a sentence for each criterion that a record meets, except `max_count`, which depends on all records."""
    reasons = []
    rate, day = candidate.success_rate, timedelta(days=1)
    if criteria.min_success_rate is not None and rate is not None and rate < criteria.min_success_rate:
        reasons.append(f"{rate:.0%} of {_n_known(candidate):,} succeeded, under {criteria.min_success_rate:.0%}")
    if criteria.max_age_days is not None and candidate.created_at is not None:
        age = now - candidate.created_at
        if age / day > criteria.max_age_days:
            reasons.append(f"{age.days} days old, over {criteria.max_age_days:g}")
    if criteria.never_retrieved_days is not None and candidate.stored_at is not None:
        idle = now - max(candidate.stored_at, candidate.usage.last_retrieved_at or candidate.stored_at)
        if idle / day >= criteria.never_retrieved_days:
            reasons.append(f"not retrieved for {idle.days} days")
    return reasons


def _count_missing_values(judged: Sequence[PruneCandidate], criteria: PruneCriteria) -> dict[str, int]:
    """Return the number of records that lack the value for a criterion, keyed by criterion. Zeros are left out."""
    lacks_value_by_criterion = {
        "min_success_rate": lambda candidate: candidate.success_rate is None,
        "max_age_days": lambda candidate: candidate.created_at is None,
        "never_retrieved_days": lambda candidate: candidate.stored_at is None,
        "max_count": lambda candidate: candidate.created_at is None,
    }
    enabled = criteria.enabled_values()
    counts = {
        name: sum(map(lacks_value, judged)) for name, lacks_value in lacks_value_by_criterion.items() if name in enabled
    }
    return {name: count for name, count in counts.items() if count}


def _add_surplus_reasons(
    judged: Sequence[PruneCandidate], reasons: dict[str, list[str]], criteria: PruneCriteria
) -> None:
    """Add a removal reason to the worst records, until only `max_count` records have none."""
    if criteria.max_count is None:
        return
    remaining_candidates = [candidate for candidate in judged if candidate.marks.pinned or not reasons[candidate.id]]
    worst_first = sorted(
        (
            candidate
            for candidate in remaining_candidates
            if not candidate.marks.pinned and candidate.created_at is not None
        ),
        key=_retention_key,
    )
    for candidate in worst_first[: max(0, len(remaining_candidates) - criteria.max_count)]:
        reasons[candidate.id].append(f"over the {criteria.max_count} to keep")


def _best_of_lost_neighbourhoods(
    candidates: Sequence[PruneCandidate], vectors: Vectors, removed_ids: set[str]
) -> dict[str, str]:
    """Return the reason to keep the best record of each neighbourhood that would be removed completely.

    The reasons are keyed by the record's id, the best record first.
    """
    reasons_to_keep: dict[str, str] = {}
    lost_positions = sorted(
        (index for index, candidate in enumerate(candidates) if candidate.id in removed_ids),
        key=lambda index: _retention_key(candidates[index]),
        reverse=True,
    )
    staying_positions = np.flatnonzero([candidate.id not in removed_ids for candidate in candidates])
    is_near_staying = _is_near_any(vectors[lost_positions], vectors[staying_positions])
    remaining_positions = np.array(lost_positions, np.int64)[~is_near_staying]
    while len(remaining_positions):
        block, is_covered = remaining_positions[:BLOCK], np.zeros(len(remaining_positions), bool)
        is_near = vectors[block] @ vectors[remaining_positions].T >= NEIGHBOUR_SIMILARITY
        for row, index in enumerate(block):
            if not is_covered[row]:
                neighbours = [
                    int(remaining_positions[column])
                    for column in np.flatnonzero(is_near[row] & ~is_covered)
                    if column != row
                ]
                reasons_to_keep[candidates[index].id] = _describe_neighbourhood(candidates, neighbours)
                is_covered |= is_near[row]
                is_covered[row] = True
        remaining_positions = remaining_positions[~is_covered]
    return reasons_to_keep


def _is_near_any(vectors: Vectors, targets: Vectors) -> np.ndarray:
    is_near = np.zeros(len(vectors), bool)
    if len(targets):
        for start in range(0, len(vectors), BLOCK):
            similarities = vectors[start : start + BLOCK] @ targets.T
            is_near[start : start + BLOCK] = similarities.max(axis=1) >= NEIGHBOUR_SIMILARITY
    return is_near


def _describe_neighbourhood(candidates: Sequence[PruneCandidate], neighbours: Sequence[int]) -> str:
    if not neighbours:
        return "no kept record is near it"
    nearest = candidates[neighbours[0]]
    return f"no kept record is near it and {len(neighbours)} like it, such as {nearest.title[:80]!r}"


def _retention_key(candidate: PruneCandidate) -> tuple[float, int, datetime]:
    rate = candidate.success_rate
    return (
        0.5 if rate is None else rate,
        candidate.usage.n_successes,
        candidate.created_at or datetime.min.replace(tzinfo=UTC),
    )


def _n_known(candidate: PruneCandidate) -> int:
    return candidate.usage.n_uses + (candidate.success is not None)


def _check_number(name: str, value: Any, minimum: float, maximum: float) -> None:
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not minimum <= value <= maximum or value == float("inf"):
        raise InvalidInput(
            f"expected a number {'from 0 to 1' if maximum == 1 else 'from 0 up'} for {name}, got {value!r}"
        )
