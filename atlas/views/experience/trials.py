"""The list of experiences by task: the attempts at one task are one line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from atlas.memory.system import MemorySystem
from atlas.views.experience.list import (
    ExperienceRow,
    count_with_rate,
    ids_with_memory,
    memory_text,
    outcome_of,
    stored_rows,
)
from atlas.views.kinds.experience import ATTEMPT, EXPERIENCE
from atlas.views.lists.listing import listed_caption, order_of
from atlas.views.lists.queries import Listing, Query, on_page
from atlas.views.shared.wording import counted, history_text

TaskKey = tuple[str, str]
"""A task's domain and id, because two benchmarks may use the same ids."""


def task_page(memory: MemorySystem, query: Query, page: int = 1) -> Listing[ExperienceRow]:
    """Return one page of the list of tasks, by its number from 1. Each row shows a task's first attempt in the order.

    A row counts only the attempts that pass the filter.
    """
    row_ids = [attempts[0] for attempts in grouped_ids(memory, query)]
    shown, count = on_page(row_ids, page), count_with_rate(memory, query)
    n_all = memory.experience.count() if query.where else count.n
    is_grouped = len(row_ids) < count.n
    scope_caption = listed_caption(
        count.n, n_all, ATTEMPT if is_grouped else EXPERIENCE.noun, is_narrow=bool(query.where)
    )
    tasks = f"{counted(len(row_ids), 'task')}, a row each" if is_grouped else ""
    return Listing(
        rows=_task_rows(memory, query.where, shown),
        n=len(row_ids),
        n_records=count.n,
        caption=" · ".join(filter(None, [tasks, scope_caption, count.note])),
    )


def grouped_ids(memory: MemorySystem, query: Query) -> list[list[str]]:
    """Return the ids of the attempts of each row on all pages of the list, in its order.

    An experience without a task id counts as a separate task.
    """
    experiences, where, order = memory.experience, query.where, order_of(EXPERIENCE, query)
    tasks, domains = experiences.column("task_id", where), experiences.column("domain", where)
    keys = experiences.column(order.key, where)
    ids = experiences.ids(where)
    ids_with_key = [record_id for record_id in ids if record_id in keys]
    ids_without_key = [record_id for record_id in ids if record_id not in keys]
    attempts: dict[TaskKey, list[str]] = defaultdict(list)
    for record_id in [*sorted(ids_with_key, key=keys.__getitem__, reverse=order.is_descending), *ids_without_key]:
        task = (domains.get(record_id, ""), tasks[record_id]) if tasks.get(record_id) else ("", record_id)
        attempts[task].append(record_id)
    return list(attempts.values())


def _task_rows(memory: MemorySystem, where: Mapping[str, Any], ids: Sequence[str]) -> tuple[ExperienceRow, ...]:
    stored = memory.experience.browse({"id": {"$in": list(ids)}})
    rows = {row.id: row for row in stored_rows(memory, stored)}
    tasks = {row["id"]: _task_key(row["metadata"]) for row in stored if row["metadata"].get("task_id")}
    attempts = _attempts(memory, where, sorted({task_id for _, task_id in tasks.values()}))
    ids_using_memory = ids_with_memory(memory, chain.from_iterable(attempts.values()))
    attempts_by_row = {record_id: attempts[key] for record_id, key in tasks.items()}
    return tuple(
        _with_attempts(rows[record_id], attempts_by_row.get(record_id, ()), ids_using_memory)
        for record_id in ids
        if record_id in rows
    )


def _task_key(metadata: Mapping[str, Any]) -> TaskKey:
    return metadata.get("domain", ""), metadata["task_id"]


def _attempts(
    memory: MemorySystem, where: Mapping[str, Any], task_ids: Sequence[str]
) -> Mapping[TaskKey, Sequence[Mapping[str, Any]]]:
    """Return the records of attempts at tasks, oldest first, by task."""
    at_tasks = {"task_id": {"$in": list(task_ids)}}
    records = memory.experience.browse({"$and": [dict(where), at_tasks]} if where else at_tasks, descending=False)
    attempts: dict[TaskKey, list[Mapping[str, Any]]] = defaultdict(list)
    for row in records:
        attempts[_task_key(row["metadata"])].append(row)
    return attempts


def _with_attempts(
    row: ExperienceRow, attempts: Sequence[Mapping[str, Any]], ids_using_memory: Collection[str]
) -> ExperienceRow:
    if len(attempts) < 2:
        return row
    ids = tuple(attempt["id"] for attempt in attempts)
    other_attempts = [attempt["metadata"] for attempt in attempts if attempt["id"] != row.id]
    agents = dict.fromkeys(attempt.get("agent_id", "") for attempt in other_attempts)
    times = {attempt["id"]: attempt["metadata"].get("created_at") for attempt in attempts}
    return replace(
        row,
        history=history_text(
            [outcome_of(attempt) for attempt in other_attempts], is_last=times.get(row.id) == times[ids[-1]]
        ),
        memory=memory_text(sum(attempt_id in ids_using_memory for attempt_id in ids), len(ids)),
        other_agents=tuple(agent for agent in agents if agent and agent != row.agent) if row.agent else (),
        attempt_ids=ids,
    )
