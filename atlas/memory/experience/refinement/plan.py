"""Plans to refine a store: which experiences to keep, merge, drop and reorder. A person reviews the plan.

The store is judged in sets of similar experiences, which a search would return together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from atlas.core.errors import AtlasError
from atlas.core.tables import TableRow, Tabular
from atlas.core.types import Vectors
from atlas.llm.concurrency import call_concurrently, concurrency_of
from atlas.memory.experience.merging import MergeCandidate
from atlas.memory.experience.refinement.decisions import (
    NO_JUDGEMENT_REASON,
    ExplainingStrategy,
    RefineDecision,
    RefinedSet,
)
from atlas.memory.loss import CurationLoss, reason_with_loss
from atlas.storage.records import NO_MOMENT, Moment

KEEP, MERGE, DROP = "keep", "merge", "drop"

FAILURES_IN_A_ROW = 3
"""Consecutive failures after which no further set is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDecision:
    """The planned decision on an experience, with its reason."""

    id: str
    title: str
    """Title of the task. Untrusted text, like the reason."""

    outcome: str
    """`succeeded`, `failed` or `unknown`."""

    action: str
    """`keep`, `merge` (into `into`) or `drop`."""

    reason: str
    into: str = ""
    set_number: int
    """Number of the set in which the experience was judged, from 1."""

    before: int
    """Position in the original set, from 1."""

    after: int = 0
    """Position in the refined set, from 1, or 0 for a removed experience."""

    is_moved: bool = False
    """True if the experience changes its position among the kept ones."""

    @property
    def is_removed(self) -> bool:
        """True if applying the plan removes the experience."""
        return self.action != KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinePlan(Tabular):
    """A plan to refine. Applying it makes exactly these changes, or fails if an experience has changed."""

    memory: ClassVar[str] = "experience"

    decisions: tuple[PlannedDecision, ...]
    """Decisions, set by set, in the original order."""

    made_by: str
    """`rules`, or the name of the language model."""

    prompt: str = ""
    """Version of the model's prompt."""

    moment: Moment = NO_MOMENT
    """Moment in the store's history at which the plan was made."""

    n_total: int
    """Number of experiences in the store when the plan was made."""

    n_in_scope: int = 0
    """Number of experiences in scope. If there are fewer decisions, only the newest were judged."""

    failures: tuple[str, ...] = ()
    """Reasons why sets of experiences were not judged. Such sets are kept."""

    spent: str = ""
    """Number of calls and tokens, and their price, or empty if no model was used."""

    where: Mapping[str, Any] = field(default_factory=dict)
    """Filter of the experiences."""

    made_at: str = ""
    """Time of the plan, in ISO 8601."""

    loss: CurationLoss | None = None
    """Loss to agents, or None if it was not measured. See `MemorySystem.with_loss`."""

    @property
    def replacements(self) -> dict[str, str]:
        """The experience that replaces each removed one, by ids. An empty string replaces a dropped one."""
        return {decision.id: decision.into for decision in self.decisions if decision.is_removed}

    def keep_records(self, ids: Collection[str]) -> RefinePlan:
        """Return a copy of the plan that keeps these experiences."""
        decisions = list[PlannedDecision]()
        for decision in self.decisions:
            if decision.is_removed and decision.id in ids:
                reason = f"kept by you; otherwise removed: {decision.reason}"
                decision = replace(decision, action=KEEP, into="", reason=reason)
            decisions.append(decision)
        return replace(self, decisions=tuple(decisions))

    @property
    def merged(self) -> tuple[PlannedDecision, ...]:
        """The decisions that merge an experience into another."""
        return tuple(decision for decision in self.decisions if decision.action == MERGE)

    @property
    def dropped(self) -> tuple[PlannedDecision, ...]:
        """The decisions that drop an experience."""
        return tuple(decision for decision in self.decisions if decision.action == DROP)

    @property
    def removed_ids(self) -> tuple[str, ...]:
        """The ids of all experiences that would be removed."""
        return tuple(decision.id for decision in self.decisions if decision.is_removed)

    @property
    def n_unjudged(self) -> int:
        """Number of experiences that are kept because they were not judged."""
        return sum(decision.reason == NO_JUDGEMENT_REASON for decision in self.decisions)

    @property
    def n_moved(self) -> int:
        """Number of kept experiences that the strategy moved to another position."""
        return sum(decision.is_moved for decision in self.decisions)

    @property
    def n_sets(self) -> int:
        """Number of sets that were judged."""
        return len({decision.set_number for decision in self.decisions})

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The groups to merge, with the kept experience first."""
        groups: dict[str, list[str]] = defaultdict(list)
        for decision in self.merged:
            groups[decision.into].append(decision.id)
        return tuple((survivor, *ids) for survivor, ids in groups.items())

    @property
    def changed_ids(self) -> tuple[str, ...]:
        """The ids of all experiences that the plan changes or removes."""
        return tuple(dict.fromkeys([*(record_id for group in self.groups for record_id in group), *self.removed_ids]))

    @property
    def share(self) -> float:
        """Share of the memory's records that would be removed, in [0, 1]."""
        return len(self.removed_ids) / self.n_total if self.n_total else 0.0

    def _caption(self) -> str:
        return f"experiences: {len(self.merged):,} would be merged into others, {len(self.dropped):,} would be dropped"

    def _rows(self) -> Iterator[TableRow]:
        for decision in self.decisions:
            if decision.is_removed:
                change = f"merged into {decision.into[:8]}" if decision.action == MERGE else "dropped"
                yield {
                    "experience": decision.title,
                    "outcome": decision.outcome,
                    "would be": change,
                    "reason": decision.reason,
                }

    @property
    def reason(self) -> str:
        """The reason shown in the history."""
        author = f"{self.made_by}, {self.prompt}" if self.prompt else self.made_by
        merged, dropped = len(self.merged), len(self.dropped)
        return reason_with_loss(
            f"merged {merged} and dropped {dropped} of {len(self.decisions)}, by {author}", self.loss
        )


def partition_by_similarity(ids: Sequence[str], vectors: Vectors, size: int) -> list[list[str]]:
    """Partition ids into sets of at most `size`: the first remaining id with its nearest neighbours, and so on.

    The given order is kept within each set.

    Args:
        vectors: Vectors of the ids, shape (n_ids, dim), rows of unit length.
        size: Maximum number of ids in a set; positive.
    """
    remaining_rows, sets = list(range(len(ids))), []
    while remaining_rows:
        first_row, *other_rows = remaining_rows
        similarities = dict(zip(other_rows, vectors[other_rows] @ vectors[first_row], strict=True))
        nearest_rows = sorted(other_rows, key=lambda row: -similarities[row])[: size - 1]
        members = {first_row, *nearest_rows}
        sets.append([ids[row] for row in remaining_rows if row in members])
        remaining_rows = [row for row in remaining_rows if row not in members]
    return sets


class SetJudge:
    """A judge of sets that collects the decisions, concurrently if the strategy allows it."""

    def __init__(self, strategy: ExplainingStrategy, candidates: Mapping[str, MergeCandidate]) -> None:
        self.decisions: list[PlannedDecision] = []
        self.failures: list[str] = []
        """Reasons why sets were not judged."""

        self._strategy = strategy
        self._candidates = candidates
        self._n_sets = self._n_failed = 0

    def judge_all(self, sets: Sequence[Sequence[str]]) -> Iterator[int]:
        """Judge sets in order, and yield the number of experiences judged so far after each set."""
        for ids, refined in zip(
            sets, call_concurrently(self._judge, sets, concurrency_of(self._strategy)), strict=True
        ):
            if isinstance(refined, AtlasError):
                raise refined
            self._n_sets += 1
            self._n_failed = self._n_failed + 1 if refined.failure else 0
            self.failures += [f"Set {self._n_sets} was not judged: {refined.failure}"] if refined.failure else []
            self.decisions += _plan_decisions(self._n_sets, ids, refined, self._candidates)
            yield len(self.decisions)

    async def _judge(self, ids: Sequence[str]) -> RefinedSet:
        if self._n_failed >= FAILURES_IN_A_ROW:
            return _keep_unjudged(ids, self._candidates)
        return await self._strategy.refine_with_reasons([self._candidates[record_id].experience for record_id in ids])


def _plan_decisions(
    number: int, ids: Sequence[str], refined: RefinedSet, candidates: Mapping[str, MergeCandidate]
) -> list[PlannedDecision]:
    """Return the planned decisions on one set, in the original order. Pinned records are never dropped."""
    decisions = {decision.experience_id: _keep_if_pinned(decision, candidates) for decision in refined.decisions}
    kept_ids = [record_id for record_id in ids if decisions[record_id].action == KEEP]
    # Pinned records that the strategy dropped have no position in the refined order, so they come last.
    refined_ids = [experience.id for experience in refined.experiences if decisions[experience.id].action == KEEP]
    refined_ids += [record_id for record_id in kept_ids if record_id not in refined_ids]
    return [
        PlannedDecision(
            id=record_id,
            title=candidates[record_id].title,
            outcome=candidates[record_id].experience.outcome.label,
            action=decisions[record_id].action,
            reason=decisions[record_id].reason,
            into=decisions[record_id].into,
            set_number=number,
            before=position_before,
            after=refined_ids.index(record_id) + 1 if record_id in refined_ids else 0,
            is_moved=record_id in refined_ids and refined_ids.index(record_id) != kept_ids.index(record_id),
        )
        for position_before, record_id in enumerate(ids, start=1)
    ]


def _keep_unjudged(ids: Sequence[str], candidates: Mapping[str, MergeCandidate]) -> RefinedSet:
    """Return decisions that keep a whole set, which is not judged after several failures."""
    decisions = [RefineDecision(experience_id=record_id, action=KEEP, reason=NO_JUDGEMENT_REASON) for record_id in ids]
    experiences = [candidates[record_id].experience for record_id in ids]
    return RefinedSet(
        experiences=experiences, decisions=decisions, failure="it was skipped after several failures in a row"
    )


def _keep_if_pinned(decision: RefineDecision, candidates: Mapping[str, MergeCandidate]) -> RefineDecision:
    if decision.action == DROP and candidates[decision.experience_id].marks.pinned:
        return replace(decision, action=KEEP, reason=f"it is pinned; otherwise removed: {decision.reason}")
    return decision
