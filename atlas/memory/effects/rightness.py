"""The tasks for which a record is right: its own task, and tasks of its sources, successful uses and judgements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.core.types import CodeConcept, Experience, Strategy, Task
from atlas.memory.base.memory import Memory
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.experience.same_task import task_key
from atlas.memory.strategy_sources import stored_attempts
from atlas.storage.marks.judgements import Judgement


@dataclass(frozen=True, slots=True)
class RecordTasks:
    """The tasks for which each record of one memory is right."""

    ids: Mapping[str, frozenset[str]]
    """Ids of tasks, keyed by record."""

    attempted: Mapping[str, tuple[Task, ...]]
    """Tasks of attempts, keyed by record: the record's own task, or the tasks of its sources."""

    queries: Mapping[str, frozenset[str]]
    """Queries for which a person or agent judged a record to be right, keyed by record."""

    def is_right(self, record_id: str, task: Task) -> bool:
        """Return whether a record is right for a task."""
        if task.description in self.queries.get(record_id, ()):
            return True
        if task.id != "" and task.id in self.ids.get(record_id, ()):
            return True
        return any(task_key(task) == task_key(attempted) for attempted in self.attempted.get(record_id, ()))


def worth(record: Any) -> int:
    """Return how good a record is for its task: 2 for a success, 1 for an unknown outcome, 0 for a failure."""
    return {True: 2, None: 1, False: 0}[record.success] if isinstance(record, Experience) else 0


def tasks_of(
    memory: Memory[Any],
    records: Iterable[Any],
    experience: ChromaExperienceMemory | None,
    judgements: Sequence[Judgement],
) -> RecordTasks:
    """Return the tasks for which the records of one memory are right.

    Args:
        experience: The experience memory, or None if ATLAS does not keep attempts.
        judgements: All judgements of the store.
    """
    records_by_id = {record.id: record for record in records}
    attempted: dict[str, tuple[Task, ...]] = {
        record_id: (record.task,) for record_id, record in records_by_id.items() if isinstance(record, Experience)
    }
    uses = memory.collection.uses(list(records_by_id))
    task_ids_by_record = {
        record_id: {use.task_id for use in uses.get(record_id, ()) if use.success and use.task_id}
        for record_id in records_by_id
    }
    for record_id, tasks in attempted.items():
        task_ids_by_record[record_id] |= {task.id for task in tasks if task.id}
    if experience is not None:
        strategies = [record for record in records_by_id.values() if isinstance(record, Strategy)]
        attempts = stored_attempts(experience, [source_id for strategy in strategies for source_id in strategy.sources])
        for strategy in strategies:
            task_ids_by_record[strategy.id] |= {
                attempts[source_id].task_id for source_id in strategy.sources if source_id in attempts
            }
        attempted |= _tasks_of_concepts(records_by_id.values(), experience)
    queries: dict[str, set[str]] = {}
    for judgement in judgements:
        if (
            judgement.is_right
            and judgement.collection == memory.collection_name
            and judgement.record_id in records_by_id
        ):
            queries.setdefault(judgement.record_id, set()).add(judgement.query)
    return RecordTasks(
        ids={record_id: frozenset(task_ids - {""}) for record_id, task_ids in task_ids_by_record.items()},
        attempted=attempted,
        queries={record_id: frozenset(texts) for record_id, texts in queries.items()},
    )


def replayable_tasks(tasks: RecordTasks, experience: ChromaExperienceMemory | None) -> list[Task]:
    """Return the distinct tasks with a known text, which can be replayed. Judged queries come last."""
    known_ids = {task.id for attempted in tasks.attempted.values() for task in attempted}
    missing_ids = {task_id for ids in tasks.ids.values() for task_id in ids} - known_ids
    all_tasks = [task for attempted in tasks.attempted.values() for task in attempted]
    if experience is not None and missing_ids:
        rows = experience.browse({"task_id": {"$in": sorted(missing_ids)}}, order_by="", descending=False)
        attempt_ids_by_task = {row["metadata"]["task_id"]: row["id"] for row in reversed(rows)}
        all_tasks += [attempt.task for attempt in experience.get_many(list(attempt_ids_by_task.values()))]
    all_tasks += [Task("", "", query) for query in sorted(frozenset().union(*tasks.queries.values()))]
    return list({task_key(task): task for task in reversed(all_tasks)}.values())[::-1]


def _tasks_of_concepts(records: Iterable[Any], experience: ChromaExperienceMemory) -> dict[str, tuple[Task, ...]]:
    """Return the tasks of the attempts from which concepts were extracted, keyed by the concept's id."""
    concepts = [record for record in records if isinstance(record, CodeConcept) and record.found_in]
    attempts = (
        experience.get_many([attempt_id for concept in concepts for attempt_id in concept.found_in]) if concepts else []
    )
    tasks_by_attempt = {attempt.id: attempt.task for attempt in attempts}
    return {
        concept.id: tuple(
            tasks_by_attempt[attempt_id] for attempt_id in concept.found_in if attempt_id in tasks_by_attempt
        )
        for concept in concepts
    }
