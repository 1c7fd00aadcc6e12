"""Between strategies and the experiences of a store: what they come from, and how their tasks went without them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atlas.analysis.statistics import SuccessRate
from atlas.core.types import Strategy, Trajectory
from atlas.memory.experience import ChromaExperienceMemory
from atlas.memory.extraction import to_trajectory
from atlas.memory.strategies import ChromaStrategyBank

MANY = 2_000
"""Values up to which records are asked for by name; for more, reading the whole column is quicker."""


@dataclass(frozen=True, slots=True)
class Linked:
    """The experience of an attempt that a strategy names."""

    id: str
    task_id: str
    outcome: str
    """`succeeded`, `failed` or `unknown`."""


def linked(experience: ChromaExperienceMemory, trajectory_ids: Sequence[str]) -> dict[str, Linked]:
    """The experiences of those attempts that are still remembered, by the attempt's id."""
    if not trajectory_ids:
        return {}
    wanted = set(trajectory_ids)
    where = {"trajectory_id": {"$in": list(wanted)}} if len(wanted) <= MANY else None
    by_experience = experience.column("trajectory_id", where)
    found = {record_id: of for record_id, of in by_experience.items() if of in wanted}
    among = {"id": {"$in": list(found)}} if len(found) <= MANY else None
    tasks, outcomes = experience.column("task_id", among), experience.column("outcome", among)
    return {of: Linked(i, tasks.get(i, ""), outcomes.get(i, "unknown")) for i, of in found.items()}


def tasks_without(
    bank: ChromaStrategyBank, experience: ChromaExperienceMemory, strategies: Sequence[Strategy]
) -> dict[str, SuccessRate]:
    """How attempts went at the tasks that strategies come from, made without them, by the strategy's id.

    Their sources are among these, as they were made before there was a strategy; recorded tries are not.
    """
    tasks = _tasks(experience, strategies)
    every = {task_id for ids in tasks.values() for task_id in ids}
    if not every:
        return {strategy.id: SuccessRate() for strategy in strategies}
    where = {"task_id": {"$in": list(every)}} if len(every) <= MANY else None
    attempts = _attempts(experience, where)
    uses = bank.attempts_of([one.id for one in strategies])
    tried = {strategy_id: {use.trajectory_id for use in of} for strategy_id, of in uses.items()}
    return {one.id: _rate(tasks[one.id], attempts, tried[one.id]) for one in strategies}


def unwritten_successes(
    bank: ChromaStrategyBank, experience: ChromaExperienceMemory, limit: int | None = None
) -> list[Trajectory]:
    """Successful attempts that no strategy has as a source, oldest first; at most so many of them."""
    held = bank.column("sources")
    known = {one for of in held.values() for one in ([of] if isinstance(of, str) else of)}
    attempt_of = experience.column("trajectory_id")
    ids = [i for i in experience.ids({"outcome": "succeeded"}) if attempt_of.get(i) not in known]
    found = [to_trajectory(one) for one in experience.get_many(ids if limit is None else ids[:limit])]
    return [one for one in found if one.id not in known]


def _tasks(experience: ChromaExperienceMemory, strategies: Sequence[Strategy]) -> dict[str, set[str]]:
    """The tasks that strategies come from: those of their sources, else the one that they name."""
    of = linked(experience, [source for one in strategies for source in one.sources])
    tasks = {one.id: {of[source].task_id for source in one.sources if source in of} for one in strategies}
    return {one.id: {task for task in tasks[one.id] or {_named_task(one)} if task} for one in strategies}


def _named_task(strategy: Strategy) -> str:
    named = strategy.metadata.get("task_id", "")
    return named if isinstance(named, str) and strategy.sources else ""


def _attempts(experience: ChromaExperienceMemory, where: Mapping[str, object] | None) -> dict[str, list[Linked]]:
    """Attempts by task; of each its own id in place of the experience's, where it is known."""
    tasks, outcomes = experience.column("task_id", where), experience.column("outcome", where)
    attempt_of = experience.column("trajectory_id", where)
    found = defaultdict(list)
    for record_id, task_id in tasks.items():
        attempt = Linked(attempt_of.get(record_id, record_id), task_id, outcomes.get(record_id, "unknown"))
        found[task_id].append(attempt)
    return found


def _rate(tasks: set[str], attempts: Mapping[str, Sequence[Linked]], tried: set[str]) -> SuccessRate:
    counts: dict[str, int] = defaultdict(int)
    for attempt in (one for task in tasks for one in attempts.get(task, ())):
        counts[attempt.outcome] += attempt.id not in tried
    return SuccessRate.of(counts)
