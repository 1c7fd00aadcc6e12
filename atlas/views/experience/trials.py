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
    """Return one page of the list of tasks, counted from 1. A line shows the task's first attempt in the list's order.

    Attempts outside the filter are not counted in their task's line.
    """
    first = [attempts[0] for attempts in grouped_ids(memory, query)]
    shown, count = on_page(first, page), count_with_rate(memory, query)
    n_all = memory.experience.count() if query.where else count.n
    is_grouped = len(first) < count.n
    among = listed_caption(count.n, n_all, ATTEMPT if is_grouped else EXPERIENCE.noun, is_narrow=bool(query.where))
    tasks = f"{counted(len(first), 'task')}, a row each" if is_grouped else ""
    return Listing(
        rows=_rows_of(memory, query.where, shown),
        n=len(first),
        n_records=count.n,
        caption=" · ".join(filter(None, [tasks, among, count.note])),
    )


def grouped_ids(memory: MemorySystem, query: Query) -> list[list[str]]:
    """Return the ids of the attempts of each row on all pages of the list, in its order.

    An experience without a task id counts as a separate task.
    """
    experiences, where, order = memory.experience, query.where, order_of(EXPERIENCE, query)
    tasks, domains = experiences.column("task_id", where), experiences.column("domain", where)
    keys = experiences.column(order.key, where)
    ids = experiences.ids(where)
    with_key = sorted((each for each in ids if each in keys), key=keys.__getitem__, reverse=order.is_descending)
    attempts: dict[TaskKey, list[str]] = defaultdict(list)
    for each in [*with_key, *(each for each in ids if each not in keys)]:
        task = (domains.get(each, ""), tasks[each]) if tasks.get(each) else ("", each)
        attempts[task].append(each)
    return list(attempts.values())


def _rows_of(memory: MemorySystem, where: Mapping[str, Any], ids: Sequence[str]) -> tuple[ExperienceRow, ...]:
    stored = memory.experience.browse({"id": {"$in": list(ids)}})
    rows = {row.id: row for row in stored_rows(memory, stored)}
    tasks = {row["id"]: _key_of(row["metadata"]) for row in stored if row["metadata"].get("task_id")}
    attempts = _attempts(memory, where, sorted({task_id for _, task_id in tasks.values()}))
    users = ids_with_memory(memory, chain.from_iterable(attempts.values()))
    of_row = {record_id: attempts[key] for record_id, key in tasks.items()}
    return tuple(_with_attempts(rows[each], of_row.get(each, ()), users) for each in ids if each in rows)


def _key_of(metadata: Mapping[str, Any]) -> TaskKey:
    return metadata.get("domain", ""), metadata["task_id"]


def _attempts(
    memory: MemorySystem, where: Mapping[str, Any], task_ids: Sequence[str]
) -> Mapping[TaskKey, Sequence[Mapping[str, Any]]]:
    """Return the attempts at tasks as the store lists them, oldest first, by task."""
    at_tasks = {"task_id": {"$in": list(task_ids)}}
    found = memory.experience.browse({"$and": [dict(where), at_tasks]} if where else at_tasks, descending=False)
    attempts: dict[TaskKey, list[Mapping[str, Any]]] = defaultdict(list)
    for row in found:
        attempts[_key_of(row["metadata"])].append(row)
    return attempts


def _with_attempts(row: ExperienceRow, attempts: Sequence[Mapping[str, Any]], users: Collection[str]) -> ExperienceRow:
    if len(attempts) < 2:
        return row
    ids = tuple(attempt["id"] for attempt in attempts)
    others = [attempt["metadata"] for attempt in attempts if attempt["id"] != row.id]
    agents = dict.fromkeys(other.get("agent_id", "") for other in others)
    times = {attempt["id"]: attempt["metadata"].get("created_at") for attempt in attempts}
    return replace(
        row,
        history=history_text([outcome_of(other) for other in others], is_last=times.get(row.id) == times[ids[-1]]),
        memory=memory_text(sum(each in users for each in ids), len(ids)),
        other_agents=tuple(each for each in agents if each and each != row.agent) if row.agent else (),
        attempt_ids=ids,
    )
