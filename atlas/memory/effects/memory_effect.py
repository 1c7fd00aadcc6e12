"""The effect of memory: the success rates of attempts with memories and without, at the same tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from atlas.core.statistics import Estimate, estimates, sign_test
from atlas.memory.base.memory import Memory
from atlas.memory.effects.randomised import RandomisedEffect, randomised_attempts, randomised_effect
from atlas.memory.effects.strategy_effects import Tries
from atlas.memory.experience.extraction import SHOWN_RECORDS, SHOWN_TOKENS, UNUSED_TOKENS
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.query import AnyMemory
from atlas.memory.strategy_sources import MAX_FILTERED, Attempt, read_attempts, stored_attempts

MIN_TASKS = 10
"""Minimum number of tasks for a conclusion."""

MAX_FAILURE_DIFFERENCE = 0.2
"""Largest difference in the share of attempts after a failure for which the comparison is valid.

In simulations, attempts used memory at random, or more often after failures. Whenever the bias was above 0.05, this
difference was exceeded.
"""

SEED = 18

_RECEIVED_RECORDS, _RECEIVED_BLOCK = ({key: {"$gt": 0}} for key in (SHOWN_RECORDS, SHOWN_TOKENS))
"""Filters for attempts that received records, and for attempts that received a context block."""

UsedRecord = tuple[str, str]
"""The collection and the id of a record that an attempt used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAttempt:
    """An attempt with a known outcome."""

    task_id: str
    success: bool
    has_used: bool
    """True if the attempt received memories, or is known to have used some."""

    follows_failure: bool = False
    """True if the previous attempt at the same task is known to have failed."""

    experience_id: str = ""
    """Id of the attempt's experience, or empty if it was merged into another."""

    used: tuple[UsedRecord, ...] = ()
    """The records that the attempt is known to have used. Received records that were not used are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEffect:
    """The outcomes of one task's attempts with memories and without."""

    task_id: str
    used: Tries
    """Attempts that received memories, or are known to have used some."""

    not_used: Tries
    attempts: tuple[JudgedAttempt, ...] = ()
    """The counted attempts."""

    @property
    def difference(self) -> float:
        """Success rate with memories minus success rate without, in [-1, 1]."""
        return (self.used.rate or 0.0) - (self.not_used.rate or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedShare:
    """The number of tokens in the context blocks of attempts, and the number of those in unused records.

    A record counts as used only if its id or its text appears in the agent's words.
    """

    n_blocks: int
    n_tokens: int
    n_unused: int

    @property
    def share(self) -> float:
        """Share of unused tokens, in [0, 1]."""
        return self.n_unused / self.n_tokens


@dataclass(frozen=True, kw_only=True)
class MemoryEffect:
    """The success rates at the same tasks with and without memories.

    Except in `randomised`, memories were not assigned at random, so differences may have other causes.
    """

    tasks: tuple[TaskEffect, ...]
    """Tasks with attempts both with and without memories, the largest gain first."""

    n_only_used: int = 0
    """Number of tasks without a comparison, because all judged attempts used memories."""

    unused: UnusedShare | None = None
    """Unused tokens of context blocks, or None if no stored attempt received a block."""

    randomised: RandomisedEffect | None = None
    """The effect among randomly assigned attempts, or None if all are in the same group."""

    @property
    def n_tasks(self) -> int:
        """Number of tasks with attempts both with and without memories."""
        return len(self.tasks)

    @property
    def n_helped(self) -> int:
        """Number of tasks whose success rate is higher with memories."""
        return sum(task.difference > 0 for task in self.tasks)

    @property
    def n_hurt(self) -> int:
        """Number of tasks whose success rate is lower with memories."""
        return sum(task.difference < 0 for task in self.tasks)

    @property
    def has_enough_tasks(self) -> bool:
        """True if enough tasks were compared to draw a conclusion."""
        return self.n_tasks >= MIN_TASKS

    def after_failure(self, has_used: bool) -> Tries:
        """Return the share of attempts, with memories or without, that followed a failure at the same task.

        In the result, `n_succeeded` is the number of these attempts, and `rate` is their share.
        """
        attempts = [attempt for task in self.tasks for attempt in task.attempts]
        follow_failure = [attempt.follows_failure for attempt in attempts if attempt.has_used == has_used]
        return Tries(n=len(follow_failure), n_succeeded=sum(follow_failure))

    @property
    def has_selection_bias(self) -> bool:
        """True if attempts with and without memories differ too much in how often they followed a failure.

        For example, an agent may use memories only after failures. The failures then count against attempts without
        memories, and the next attempts might have succeeded without memories too.
        """
        share_with, share_without = (self.after_failure(has_used).rate or 0.0 for has_used in (True, False))
        return abs(share_with - share_without) > MAX_FAILURE_DIFFERENCE

    @property
    def p_value(self) -> float:
        """Two-sided p-value of a sign test over the tasks whose success rates differ, in [0, 1]."""
        return sign_test(self.n_helped, self.n_hurt)

    @property
    def mean_rates(self) -> tuple[float, float]:
        """Mean success rates with and without memories, in [0, 1], each task weighted equally."""
        rates = np.array([(task.used.rate or 0.0, task.not_used.rate or 0.0) for task in self.tasks])
        with_memories, without = rates.mean(axis=0)
        return float(with_memories), float(without)

    @cached_property
    def helped(self) -> Estimate | None:
        """Share of tasks whose success rate is higher with memories, and its bootstrap interval. None without tasks."""
        if not self.tasks:
            return None
        better = np.array([[task.difference > 0] for task in self.tasks], dtype=float)
        return estimates(better, [task.task_id for task in self.tasks], seed=SEED)[0]

    @cached_property
    def gain(self) -> Estimate | None:
        """Mean difference of the tasks' success rates, in [-1, 1], and its bootstrap interval. None without tasks."""
        if not self.tasks:
            return None
        differences = np.array([[task.difference] for task in self.tasks])
        return estimates(differences, [task.task_id for task in self.tasks], seed=SEED)[0]


def effect_among(judged: Iterable[JudgedAttempt]) -> MemoryEffect:
    """Return the effect among judged attempts. Only tasks with attempts both with and without memories count."""
    groups: dict[str, tuple[list[JudgedAttempt], list[JudgedAttempt]]] = defaultdict(lambda: ([], []))
    for attempt in judged:
        if attempt.task_id:
            groups[attempt.task_id][attempt.has_used].append(attempt)
    tasks = [
        TaskEffect(
            task_id=task_id,
            used=_count_tries(attempts_with),
            not_used=_count_tries(attempts_without),
            attempts=(*attempts_without, *attempts_with),
        )
        for task_id, (attempts_without, attempts_with) in groups.items()
        if attempts_with and attempts_without
    ]
    return MemoryEffect(
        tasks=tuple(sorted(tasks, key=lambda task: (-task.difference, task.task_id))),
        n_only_used=sum(
            bool(attempts_with) and not attempts_without for attempts_without, attempts_with in groups.values()
        ),
    )


def memory_effect(
    experience: ChromaExperienceMemory, memories: Sequence[AnyMemory], used_by: Mapping[str, Sequence[UsedRecord]]
) -> MemoryEffect:
    """Return the success rates at the same tasks with and without memories.

    A record that was made from an attempt or written after it cannot have helped the attempt. An attempt that lists
    only such records as used is left out, because it is unknown which memories it used.

    Args:
        memories: All memories of the system. The times of records in plugged-in memories are unknown.
        used_by: The records that each attempt used, keyed by the attempt's id.
    """
    randomised, unused = randomised_effect(randomised_attempts(experience)), unused_share(experience)
    ids_with_records = {
        attempt_id for attempt_id in experience.column("trajectory_id", _RECEIVED_RECORDS).values() if attempt_id
    }
    if not used_by and not ids_with_records:
        return MemoryEffect(tasks=(), randomised=randomised)
    attempts, where = _attempts_at_tasks(experience, {*used_by, *ids_with_records})
    all_used_records = set(chain.from_iterable(used_by.get(attempt.trajectory_id, ()) for attempt in attempts))
    origins = _Origins.read(experience, memories, all_used_records)
    ended_at = experience.column("created_at", where)
    attempt_ids = experience.column("trajectory_id", where)
    ids_after_failure = _ids_after_failure(attempts, ended_at, attempt_ids)
    judged = []
    for attempt in attempts:
        used_records = used_by.get(attempt.trajectory_id, ()) if attempt.trajectory_id else ()
        is_unmerged = attempt_ids.get(attempt.id, "") == attempt.trajectory_id
        ended = ended_at.get(attempt.id, "") if is_unmerged else ""
        has_received = attempt.trajectory_id in ids_with_records
        may_have_helped = has_received or any(origins.may_help(attempt, ended, record) for record in used_records)
        if used_records and not may_have_helped:
            continue
        judged.append(
            JudgedAttempt(
                task_id=attempt.task_id,
                success=attempt.outcome == "succeeded",
                has_used=bool(used_records) or has_received,
                follows_failure=is_unmerged and attempt.id in ids_after_failure,
                experience_id=attempt.id if is_unmerged else "",
                used=tuple(used_records),
            )
        )
    return replace(effect_among(judged), unused=unused, randomised=randomised)


def unused_share(experience: ChromaExperienceMemory) -> UnusedShare | None:
    """Return the share of unused tokens in the context blocks of stored attempts, or None without context blocks."""
    tokens, unused = (_parse_counts(experience.column(key, _RECEIVED_BLOCK)) for key in (SHOWN_TOKENS, UNUSED_TOKENS))
    if not sum(tokens):
        return None
    return UnusedShare(n_blocks=len(tokens), n_tokens=sum(tokens), n_unused=sum(unused))


def _parse_counts(column: Mapping[str, Any]) -> list[int]:
    return [int(value) for value in column.values() if str(value).isdecimal()]


def _ids_after_failure(
    attempts: Iterable[Attempt], ended_at: Mapping[str, str], attempt_ids: Mapping[str, str]
) -> set[str]:
    """Return the ids of experiences whose previous attempt at the same task failed.

    Merged attempts are left out, because their times are unknown.
    """
    last_outcomes, ids = dict[str, str](), set[str]()
    timed = [attempt for attempt in attempts if attempt_ids.get(attempt.id, "") == attempt.trajectory_id]
    for attempt in sorted(timed, key=lambda attempt: ended_at.get(attempt.id, "")):
        if last_outcomes.get(attempt.task_id) == "failed":
            ids.add(attempt.id)
        last_outcomes[attempt.task_id] = attempt.outcome
    return ids


def _attempts_at_tasks(
    experience: ChromaExperienceMemory, attempt_ids: Collection[str]
) -> tuple[list[Attempt], dict[str, object] | None]:
    """Return the judged attempts at all tasks where an attempt used memories, and the filter for these tasks."""
    if len(attempt_ids) > MAX_FILTERED:
        where, candidates = None, read_attempts(experience)
        task_ids = {attempt.task_id for attempt in candidates if attempt.trajectory_id in attempt_ids}
    else:
        task_ids = {attempt.task_id for attempt in stored_attempts(experience, list(attempt_ids)).values()}
        where = _filter_any("task_id", task_ids)
        candidates = read_attempts(experience, where)
    judged = [attempt for attempt in candidates if attempt.task_id in task_ids and attempt.outcome != "unknown"]
    return judged, where


@dataclass(frozen=True, slots=True)
class _Origins:
    """The known times and source attempts of used records."""

    written_at: Mapping[UsedRecord, str]
    origin_ids: Mapping[UsedRecord, str]
    """Id of the only attempt that a record was made from, keyed by the record."""

    @classmethod
    def read(
        cls, experience: ChromaExperienceMemory, memories: Sequence[AnyMemory], used_records: Collection[UsedRecord]
    ) -> _Origins:
        written_at: dict[UsedRecord, str] = {}
        origin_ids: dict[UsedRecord, str] = {}
        for memory in memories:
            if not isinstance(memory, Memory):
                continue
            name = memory.collection_name
            where = _filter_any("id", {record_id for collection, record_id in used_records if collection == name})
            source_column = "trajectory_id" if name == experience.collection_name else "sources"
            written_at |= {(name, record_id): time for record_id, time in memory.column("created_at", where).items()}
            origins = memory.column(source_column, where).items()
            origin_ids |= {(name, record_id): origin for record_id, origin in origins if _is_single_id(origin)}
        return cls(written_at, origin_ids)

    def may_help(self, attempt: Attempt, attempt_ended_at: str, record: UsedRecord) -> bool:
        """Return whether a record may have helped an attempt: it is older, and was not made from the attempt."""
        is_later = bool(attempt_ended_at) and self.written_at.get(record, "") > attempt_ended_at
        return not is_later and self.origin_ids.get(record) != attempt.trajectory_id


def _filter_any(key: str, values: Collection[str]) -> dict[str, object] | None:
    """Return a filter for records with one of these values, or None if reading the whole column is faster."""
    return {key: {"$in": sorted(values)}} if len(values) <= MAX_FILTERED else None


def _is_single_id(value: str | Sequence[str]) -> bool:
    return isinstance(value, str)


def _count_tries(attempts: Sequence[JudgedAttempt]) -> Tries:
    return Tries(n=len(attempts), n_succeeded=sum(attempt.success for attempt in attempts))
