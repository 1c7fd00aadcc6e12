"""Relations of strategies to experiences: source attempts, and attempts at the same tasks without the strategy."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from atlas.core.operations import Use
from atlas.core.statistics import SuccessRate
from atlas.core.types import Experience, Outcome, Strategy, Trajectory
from atlas.memory.experience.extraction import merged_attempts, to_trajectory
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.protocols.strategies import InformedAbstractor
from atlas.storage.records import IS_NOT_TRUSTED

MAX_FILTERED = 2_000
"""Maximum number of values in a filter. For more, scanning the column is faster."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A stored attempt: an experience, or an attempt that was merged into an experience."""

    id: str
    """Id of the experience."""

    task_id: str
    """Id of the attempted task, or empty if unknown."""

    outcome: str
    """The attempt's own outcome: `succeeded`, `failed` or `unknown`."""

    trajectory_id: str
    """Id of the attempt, or empty if unknown."""


def stored_attempts(experience: ChromaExperienceMemory, trajectory_ids: Sequence[str]) -> dict[str, Attempt]:
    """Return the attempts with these ids that are still stored, keyed by id."""
    source_ids = set(trajectory_ids) - {""}
    if not source_ids:
        return {}
    where = {"$or": [_filter_any("trajectory_id", source_ids), _filter_any("merged_trajectories", source_ids)]}
    linked_attempts = read_attempts(experience, where if len(source_ids) <= MAX_FILTERED else None)
    return {attempt.trajectory_id: attempt for attempt in linked_attempts if attempt.trajectory_id in source_ids}


def baseline_rates(
    bank: ChromaStrategyBank, experience: ChromaExperienceMemory, strategies: Sequence[Strategy]
) -> dict[str, SuccessRate]:
    """Return the baseline of each strategy, keyed by id: the success rate at its source tasks without the strategy.

    Source attempts are counted, because they precede the strategy. Attempts that used the strategy are left out.
    """
    source_tasks = _source_tasks(experience, strategies)
    all_task_ids = {task_id for ids in source_tasks.values() for task_id in ids}
    if not all_task_ids:
        return {strategy.id: SuccessRate() for strategy in strategies}
    attempts_by_task = defaultdict(list)
    for attempt in read_attempts(
        experience, _filter_any("task_id", all_task_ids) if len(all_task_ids) <= MAX_FILTERED else None
    ):
        attempts_by_task[attempt.task_id].append(attempt)
    uses = bank.attempts_of([strategy.id for strategy in strategies])
    rates = dict[str, SuccessRate]()
    for strategy in strategies:
        attempts_at_tasks = chain.from_iterable(attempts_by_task[task] for task in source_tasks[strategy.id])
        rates[strategy.id] = rate_of_others(attempts_at_tasks, uses[strategy.id])
    return rates


def rate_of_others(attempts: Iterable[Attempt], uses: Sequence[Use]) -> SuccessRate:
    """Return the success rate of those attempts that did not use a strategy.

    A use that names only a task excludes one attempt at that task with the same outcome, if there is one. A use without
    ids excludes none.

    Args:
        uses: The recorded uses of the strategy.
    """
    attempt_ids = {use.trajectory_id for use in uses if use.trajectory_id}
    n_uses_without_attempt = Counter(
        (use.task_id, Outcome(use.success).label) for use in uses if not use.trajectory_id and use.task_id
    )
    counts = Counter[str]()
    for attempt in attempts:
        if attempt.trajectory_id in attempt_ids:
            continue
        if n_uses_without_attempt[attempt.task_id, attempt.outcome]:
            n_uses_without_attempt[attempt.task_id, attempt.outcome] -= 1
        else:
            counts[attempt.outcome] += 1
    return SuccessRate.of(counts)


def read_attempts(experience: ChromaExperienceMemory, where: Mapping[str, object] | None = None) -> list[Attempt]:
    """Return the distinct attempts of the experiences that pass a filter, including attempts merged into them."""
    outcomes, tasks = experience.column("outcome", where), experience.column("task_id", where)
    attempt_ids = experience.column("trajectory_id", where)
    merged = _merged_attempts(experience, where)
    own_attempts = [
        Attempt(record_id, tasks.get(record_id, ""), outcome, attempt_ids.get(record_id, ""))
        for record_id, outcome in outcomes.items()
    ]
    return [*own_attempts, *merged]


def unwritten_attempts(
    bank: ChromaStrategyBank, experience: ChromaExperienceMemory, limit: int | None = None
) -> list[Trajectory]:
    """Return at most `limit` attempts that no strategy has as a source, oldest first.

    The attempts are successes, and failures if the bank's abstractor makes warnings. Attempts that are pending or in
    quarantine are left out.
    """
    sources = bank.column("sources")
    written_ids = {source for value in sources.values() for source in ([value] if isinstance(value, str) else value)}
    trajectory_ids = experience.column("trajectory_id")
    outcomes = ["succeeded", *(["failed"] if isinstance(bank.abstractor, InformedAbstractor) else [])]
    untrusted_ids = set(experience.ids(IS_NOT_TRUSTED))
    candidates = [
        record_id for record_id in experience.ids({"outcome": {"$in": outcomes}}) if record_id not in untrusted_ids
    ]
    ids = [record_id for record_id in candidates if trajectory_ids.get(record_id) not in written_ids]
    trajectories = [to_trajectory(record) for record in experience.get_many(ids if limit is None else ids[:limit])]
    return [trajectory for trajectory in trajectories if trajectory.id not in written_ids]


def _source_tasks(experience: ChromaExperienceMemory, strategies: Sequence[Strategy]) -> dict[str, set[str]]:
    """Return the ids of each strategy's source tasks, from its source attempts or else from its metadata."""
    attempts_by_source = stored_attempts(experience, [source for strategy in strategies for source in strategy.sources])
    tasks = dict[str, set[str]]()
    for strategy in strategies:
        linked_sources = [source for source in strategy.sources if source in attempts_by_source]
        task_ids = {attempts_by_source[source].task_id for source in linked_sources} or {_task_in_metadata(strategy)}
        tasks[strategy.id] = task_ids - {""}
    return tasks


def _task_in_metadata(strategy: Strategy) -> str:
    task_id = strategy.metadata.get("task_id", "")
    return task_id if isinstance(task_id, str) and strategy.sources else ""


def _merged_attempts(experience: ChromaExperienceMemory, where: Mapping[str, object] | None) -> list[Attempt]:
    """Return attempts that were merged into other experiences."""
    return [
        Attempt(merged_record.id, merged_record.task.id, attempt["outcome"], attempt.get("trajectory_id", ""))
        for merged_record, attempt in merged_experiences(experience, where)
    ]


def merged_experiences(
    experience: ChromaExperienceMemory, where: Mapping[str, object] | None = None
) -> list[tuple[Experience, dict[str, str]]]:
    """Return pairs of an experience and the stored data of an attempt that was merged into it."""
    merged_records = experience.get_many(list(experience.column("merged_from", where)))
    pairs = {
        record_id: (experience_after_merge, attempt)
        for experience_after_merge in merged_records
        for record_id, attempt in merged_attempts(experience_after_merge.metadata).items()
    }
    restored_ids = experience.titles(list(pairs))  # merged experiences that were restored count by themselves
    return [pair for record_id, pair in pairs.items() if record_id not in restored_ids]


def _filter_any(key: str, values: Iterable[str]) -> dict[str, object]:
    return {key: {"$in": sorted(values)}}
