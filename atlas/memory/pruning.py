"""Deciding what to prune, before anything is touched.

Pure: from what is known of each record to a plan that says what would go, by which criterion, and what is saved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.types import NO_USAGE, Marks, Usage, Vectors

NEIGHBOUR_SIMILARITY = 0.8
"""Cosine from which two records count as one neighbourhood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneCriteria:
    """What to remove: a record goes if any criterion says so. None means that a criterion is not used."""

    min_success_rate: float | None = None
    """In [0, 1]: the lowest success rate to keep. A record whose outcome nobody knows has none, and stays."""

    max_age_days: float | None = None
    """Older attempts go."""

    never_retrieved_days: float | None = None
    """What has been stored for at least so long, and was not retrieved since, goes."""

    max_count: int | None = None
    """How many to keep: the least successful go first, then the oldest."""

    keep_diverse: bool = False
    """Save the best of each neighbourhood that would otherwise have no record left."""

    @classmethod
    def parse(cls, criteria: Mapping[str, Any]) -> PruneCriteria:
        """Criteria from a dict.

        Raises:
            InvalidInput: An unknown criterion, or an impossible value.
        """
        known = [criterion.name for criterion in fields(cls)]
        for name in criteria:
            if name not in known:
                raise InvalidInput(f"unknown prune criterion {name!r}; known: {', '.join(known)}")
        parsed = cls(**criteria)
        parsed.check()
        return parsed

    def given(self) -> dict[str, Any]:
        """The criteria that are used, by name."""
        values = {criterion.name: getattr(self, criterion.name) for criterion in fields(self)}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    def reason(self) -> str:
        """What was asked for, as the history says it."""
        return ", ".join(f"{name} {value}" for name, value in self.given().items())

    def check(self) -> None:
        """Raise `InvalidInput` for an impossible value."""
        _check_number("min_success_rate", self.min_success_rate, 0, 1)
        _check_number("max_age_days", self.max_age_days, 0, float("inf"))
        _check_number("never_retrieved_days", self.never_retrieved_days, 0, float("inf"))
        _check_number("max_count", self.max_count, 0, float("inf"))
        if self.max_count is not None and not isinstance(self.max_count, int):
            raise InvalidInput(f"max_count should be a whole number, but is {self.max_count!r}")
        if not isinstance(self.keep_diverse, bool):
            raise InvalidInput(f"keep_diverse should be true or false, but is {self.keep_diverse!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneSubject:
    """What is known of one record."""

    id: str
    title: str
    success: bool | None
    created_at: datetime
    """When it was attempted."""

    stored_at: datetime
    """When it was stored."""

    usage: Usage = NO_USAGE
    pinned: bool = False

    @classmethod
    def of(cls, row: Mapping[str, Any], usage: Usage, marks: Marks) -> PruneSubject:
        """What a row of the store says; one of a store that keeps no such time was stored when it was attempted."""
        metadata = row["metadata"]
        return cls(
            id=row["id"],
            title=metadata["title"],
            success=metadata.get("success"),
            created_at=datetime.fromisoformat(metadata["created_at"]),
            stored_at=datetime.fromisoformat(row.get("stored_at") or metadata["created_at"]),
            usage=usage,
            pinned=marks.pinned,
        )

    @property
    def success_rate(self) -> float | None:
        """The mean of its own outcome and those of the tasks that it was used for; None where nothing is known."""
        own = [] if self.success is None else [float(self.success)]
        n_known = len(own) + self.usage.n_uses
        return (sum(own) + self.usage.n_successes) / n_known if n_known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneDecision:
    """One record that would go, or that was saved from going."""

    id: str
    title: str
    reasons: tuple[str, ...]
    """Each criterion that says it should go, with the record's own value."""

    saved_because: str = ""
    """Why it stays nevertheless; empty for one that goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePlan:
    """What pruning would do; applying it does exactly this, or nothing if the store has changed."""

    criteria: PruneCriteria
    removals: tuple[PruneDecision, ...]
    saved: tuple[PruneDecision, ...]
    n_total: int
    """Records in the store when the plan was made."""

    n_unknown: int
    """Records that `min_success_rate` could not judge, because nobody knows how they went."""

    moment: int = 0
    """The point in the store's history that the plan holds for."""

    usage: Mapping[str, Usage]
    """Usage of the records that would go, as the plan saw it."""

    @property
    def share(self) -> float:
        """The share of the store that would go, in [0, 1]."""
        return len(self.removals) / self.n_total if self.n_total else 0.0


def plan_prune(
    subjects: Sequence[PruneSubject], vectors: Vectors | None, criteria: PruneCriteria, now: datetime, moment: int = 0
) -> PrunePlan:
    """What these criteria would remove.

    Args:
        subjects: Every record of the store.
        vectors: One for each, needed for `keep_diverse` only.
        moment: The point in the store's history that `subjects` were read at.
    """
    reasons = {subject.id: _reasons(subject, criteria, now) for subject in subjects}
    _add_surplus(subjects, reasons, criteria)
    doomed = [subject for subject in subjects if reasons[subject.id]]
    saved = {subject.id: "it is pinned" for subject in doomed if subject.pinned}
    if criteria.keep_diverse and vectors is not None:
        saved |= _last_of_their_kind(subjects, vectors, {s.id for s in doomed if s.id not in saved})
    decisions = [
        PruneDecision(id=s.id, title=s.title, reasons=tuple(reasons[s.id]), saved_because=saved.get(s.id, ""))
        for s in doomed
    ]
    return PrunePlan(
        criteria=criteria,
        removals=tuple(decision for decision in decisions if not decision.saved_because),
        saved=tuple(decision for decision in decisions if decision.saved_because),
        n_total=len(subjects),
        n_unknown=0 if criteria.min_success_rate is None else sum(s.success_rate is None for s in subjects),
        moment=moment,
        usage={s.id: s.usage for s in doomed if s.id not in saved},
    )


def _reasons(subject: PruneSubject, criteria: PruneCriteria, now: datetime) -> list[str]:
    reasons = []
    rate, age = subject.success_rate, now - subject.created_at
    day = timedelta(days=1)
    if criteria.min_success_rate is not None and rate is not None and rate < criteria.min_success_rate:
        reasons.append(f"success rate {rate:.0%} (n = {_n_known(subject)}) is under {criteria.min_success_rate:.0%}")
    if criteria.max_age_days is not None and age / day > criteria.max_age_days:
        reasons.append(f"{age.days} days old, over {criteria.max_age_days:g}")
    if criteria.never_retrieved_days is not None:
        idle = now - max(subject.stored_at, subject.usage.last_retrieved_at or subject.stored_at)
        if idle / day >= criteria.never_retrieved_days:
            reasons.append(f"not retrieved for {idle.days} days")
    return reasons


def _add_surplus(subjects: Sequence[PruneSubject], reasons: dict[str, list[str]], criteria: PruneCriteria) -> None:
    if criteria.max_count is None:
        return
    staying = [subject for subject in subjects if subject.pinned or not reasons[subject.id]]
    for subject in sorted((s for s in staying if not s.pinned), key=_value)[
        : max(0, len(staying) - criteria.max_count)
    ]:
        reasons[subject.id].append(f"over the {criteria.max_count} to keep")


def _last_of_their_kind(subjects: Sequence[PruneSubject], vectors: Vectors, doomed: set[str]) -> dict[str, str]:
    """Of the doomed, best first, those that no kept record is near; each then stands for its neighbourhood."""
    saved: dict[str, str] = {}
    candidates = sorted(
        (i for i, s in enumerate(subjects) if s.id in doomed), key=lambda i: _value(subjects[i]), reverse=True
    )
    kept = np.flatnonzero([s.id not in doomed for s in subjects])
    is_covered = _near_any(vectors[candidates], vectors[kept])
    for position, i in enumerate(candidates):
        if is_covered[position]:
            continue
        near = vectors[candidates] @ vectors[i] >= NEIGHBOUR_SIMILARITY
        is_covered |= near
        saved[subjects[i].id] = _for_whom(subjects, [candidates[j] for j in np.flatnonzero(near)], i)
    return saved


def _near_any(vectors: Vectors, others: Vectors, block: int = 1_000) -> np.ndarray:
    is_near = np.zeros(len(vectors), bool)
    if len(others):
        for start in range(0, len(vectors), block):
            part = vectors[start : start + block] @ others.T
            is_near[start : start + block] = part.max(axis=1) >= NEIGHBOUR_SIMILARITY
    return is_near


def _for_whom(subjects: Sequence[PruneSubject], neighbours: Sequence[int], chosen: int) -> str:
    others = [subjects[i].title for i in neighbours if i != chosen]
    if not others:
        return "nothing that stays is near it"
    return f"nothing that stays is near it and {len(others)} like it, such as {others[0][:80]!r}"


def _value(subject: PruneSubject) -> tuple[float, int, datetime]:
    rate = subject.success_rate
    return (0.5 if rate is None else rate, subject.usage.n_successes, subject.created_at)


def _n_known(subject: PruneSubject) -> int:
    return subject.usage.n_uses + (subject.success is not None)


def _check_number(name: str, value: Any, low: float, high: float) -> None:
    if value is None:
        return
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not low <= value <= high
        or value == float("inf")
    ):
        raise InvalidInput(f"{name} should be a number {'from 0 to 1' if high == 1 else 'from 0 up'}, but is {value!r}")
