"""Queries with human judgments: a JSON file in the same directory as the attempts (ATLAS JSONL).

    {"about": "…", "nonsense": ["…"],
     "queries": [{"id": "q1", "kind": "symptom", "query": "…", "grades": {"a task's id": 3}}]}

A task's grade, from 0 to 3 as in `atlas.evaluation.metrics`, is the grade of every attempt at it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.core.types import Trajectory
from atlas.evaluation.measures import JudgedCorpus, JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.importers.fields import Json, as_list, as_object, required_text
from atlas.importers.files import parse_json, read_document
from atlas.importers.keys import document_keys
from atlas.importers.rows import Limits


def matches(head: bytes) -> bool:
    """Return whether the beginning of a file is that of a JSON object with `about` and `queries`."""
    return {"about", "queries"} <= document_keys(head)


def build_corpus(path: Path, attempts: Sequence[Trajectory], limits: Limits) -> JudgedCorpus:
    """Return a corpus of attempts, with the judged queries of a file.

    Raises:
        ImportFailed: The file is malformed, or judges a task that has no attempt.
    """
    ids_by_task: dict[str, list[str]] = defaultdict(list)
    for attempt in attempts:
        ids_by_task[attempt.task.id].append(attempt.id)
    try:
        document = as_object(parse_json(read_document(path, limits)), "the file")
        queries = [
            _query(row, f"queries[{n}]", ids_by_task)
            for n, row in enumerate(as_list(document.get("queries"), "queries"))
        ]
        nonsense = [
            _text(text, f"nonsense[{n}]") for n, text in enumerate(as_list(document.get("nonsense"), "nonsense"))
        ]
    except InvalidInput as error:
        raise ImportFailed(f"{path.name}: {error}") from error
    task = RetrievalTask(
        name=f"judged queries, {path.parent.resolve().name}",
        about="A query written by hand → the attempts at the tasks that were judged to help, by grade.",
        queries=tuple(queries),
    )
    return JudgedCorpus(
        name=path.parent.resolve().name, trajectories=tuple(attempts), tasks=(task,), nonsense=tuple(nonsense)
    )


def _query(value: object, name: str, ids_by_task: Mapping[str, Sequence[str]]) -> JudgedQuery:
    row = as_object(value, name)
    grades = as_object(row.get("grades"), f"{name}.grades")
    for task_id, grade in grades.items():
        if task_id not in ids_by_task:
            raise InvalidInput(
                f"{name}.grades names the task {task_id!r}, but no attempt in the directory has it; remove it"
            )
        if isinstance(grade, bool) or grade not in range(SAME + 1):
            raise InvalidInput(f"expected the grade 0, 1, 2 or 3 for {task_id!r} in {name}.grades, got {grade!r}")
    return JudgedQuery(
        text=required_text(row, "query", f"{name}.query"),
        grades={attempt_id: grade for task_id, grade in grades.items() for attempt_id in ids_by_task[task_id]},
        group=_main_task(grades, name),
    )


def _main_task(grades: Json, name: str) -> str:
    """Return the task with the highest grade. Queries with the same main task are not split between halves."""
    if not grades:
        raise InvalidInput(f"{name}.grades is empty; move a query without relevant tasks to the nonsense queries")
    return min(grades, key=lambda task_id: (-grades[task_id], task_id))


def _text(value: object, name: str) -> str:
    return required_text({"text": value}, "text", name)
