"""The reach of records: how often searches returned them, and the tasks whose context would contain them now.

The store does not record which records past contexts contained, only which an attempt used. So the past is a number of
searches, and the present is measured by replaying tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from atlas.core.types import Experience, Task, Vector
from atlas.memory.base.memory import Memory
from atlas.memory.context.block import DEFAULT_K, build_context, tools_of
from atlas.memory.effects.curation import sample_evenly
from atlas.memory.experience.same_task import task_key
from atlas.memory.kinds.sections import known_sections
from atlas.memory.query import AnyMemory, QueryFilters, combine_results, search_all
from atlas.storage.records import IS_NOT_QUARANTINED

N_TASKS = 40
"""Largest number of replayed tasks."""

N_NEAREST = 20
"""Number of nearest attempts whose tasks are replayed first."""

N_SOURCES = 10
"""Largest number of records whose nearest attempts are searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedTask:
    """A task whose context block would contain some of the records."""

    title: str
    """The task's description. Untrusted text."""

    ids: tuple[str, ...]
    """Ids of the records in the block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The number of times that records were retrieved, and the tasks whose context blocks would contain them."""

    n_retrieved: int = 0
    """Number of times that a search returned one of the records. A search that returned two counts twice.

    Searches of the last half minute may be missing.
    """

    n_tasks: int = 0
    """Number of replayed tasks: the tasks of the nearest stored attempts, then tasks spread over all attempts."""

    tasks: tuple[ReachedTask, ...] = ()
    """The replayed tasks whose context would contain any of the records."""


NO_REACH = Reach()


def measure_reach(system: Any, ids_by_memory: Mapping[str, Collection[str]]) -> Reach:
    """Return the reach of records. The store is not changed, and no retrieval is counted.

    Args:
        system: A memory system of ATLAS.
        ids_by_memory: Ids of the records, keyed by the name of their memory.
    """
    memories: Mapping[str, AnyMemory] = system._memories
    own_memories = {
        name: memory for name, memory in memories.items() if isinstance(memory, Memory) and name in ids_by_memory
    }
    n_retrieved = 0
    for name, memory in own_memories.items():
        usage = memory.collection.usage([*ids_by_memory[name]])
        n_retrieved += sum(record.n_retrieved for record in usage.values())
    tasks = _tasks_to_replay(memories.get("experience"), own_memories, ids_by_memory)
    reached = [ReachedTask(title=task.description, ids=_ids_in_block(system, task, ids_by_memory)) for task in tasks]
    return Reach(n_retrieved=n_retrieved, n_tasks=len(tasks), tasks=tuple(task for task in reached if task.ids))


def _tasks_to_replay(
    experience: AnyMemory | None, memories: Mapping[str, Memory[Any]], ids_by_memory: Mapping[str, Collection[str]]
) -> list[Task]:
    """Return the distinct tasks to replay: tasks of the attempts nearest to the records, then a sample of others."""
    if not isinstance(experience, Memory):
        return []
    vectors = list[Vector]()
    for name, memory in memories.items():
        vectors += memory.collection.first_vectors([*ids_by_memory[name]][:N_SOURCES]).values()
    neighbours = [
        experience.collection.query(vector, N_NEAREST, IS_NOT_QUARANTINED, with_buried=False).ids
        for vector in vectors[:N_SOURCES]
    ]
    ids_by_rank = chain.from_iterable(zip_longest(*neighbours))  # the nearest of each vector first
    nearest_ids = list(dict.fromkeys(filter(None, ids_by_rank)))
    sampled_ids = sample_evenly(experience.ids(IS_NOT_QUARANTINED), 2 * N_TASKS)  # some have the same task
    nearest_tasks = _distinct_tasks(experience.get_many(nearest_ids[:N_NEAREST]))
    return list({**nearest_tasks, **_distinct_tasks(experience.get_many(sampled_ids))}.values())[:N_TASKS]


def _distinct_tasks(attempts: Sequence[Experience]) -> dict[Any, Task]:
    """Return the distinct tasks of attempts, keyed by `task_key`."""
    return {task_key(attempt.task): attempt.task for attempt in attempts if attempt.task.description}


def _ids_in_block(system: Any, task: Task, ids_by_memory: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return the ids of the records that the context block of a task contains."""
    answers = search_all(system._memories, system.storage, task, DEFAULT_K, QueryFilters(), count_retrieval=False)
    block = build_context(
        combine_results(answers), system.token_counter, sections=known_sections(), tools=tools_of(task)
    )
    return tuple(
        record_id for name, ids in ids_by_memory.items() for record_id in ids if record_id in block.shown.get(name, ())
    )
