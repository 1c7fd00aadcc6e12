"""Sample data: demonstration attempts for a new store, which can be removed in one step.

A story beside the attempts fills the other memories. See `sample_data/README.md`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from atlas.core.errors import ImportFailed
from atlas.core.settings import Settings
from atlas.importers.run import import_paths
from atlas.importers.sample_measurement import store_measurement
from atlas.importers.sink import MemorySink
from atlas.memory.base.memory import Memory
from atlas.memory.base.records import METADATA
from atlas.memory.system import MemorySystem
from atlas.storage.marks.judgements import Judgement

SAMPLE_EXPERIENCES = {"is_sample": True}
"""Filter of the experiences in the sample data."""

SAMPLE_RECORDS = {f"{METADATA}is_sample": True}
"""Filter of the records in the sample data, for all memories but experiences."""


QUERIES = "queries.json"
"""File of the judged queries for the attempts in the sample data, which grade tasks."""

RIGHT_GRADE = 2
"""Grade from which an attempt at a task is a right hit: 3 is the same problem, 2 clearly helps."""

STORY = ("concepts", "strategies", "attempts", "journal", "conversation")
"""Files of the story, in the subdirectory `story`, ordered so that a record comes after those it refers to."""


@dataclass(frozen=True, slots=True)
class LoadedSample:
    """The result of loading the sample data."""

    added: int
    """Number of new records in all memories."""

    added_attempts: int
    """Number of new attempts."""

    operation_id: str | None
    """The operation, which can be undone, or None if no record was added."""


def load_sample(memory: MemorySystem, directory: Path, settings: Settings) -> LoadedSample:
    """Import the sample data of a directory into every memory, and skip records that exist already.

    A new store also gets the judged queries and the measurement of searches that are part of the data.

    Raises:
        ImportFailed: The data is missing, or a row of it cannot be read.
    """
    files = sample_files(directory)
    if not files:
        raise ImportFailed(f"there is no sample data in {directory}: expected *.jsonl files there")
    sink, was_new = MemorySink(memory, "sample data"), is_new(memory)
    report = import_paths(sink, files, strict=True, settings=settings)
    if was_new:
        _store_judgements(memory, directory / QUERIES)
        store_measurement(memory, measured_files(directory), directory)
    return LoadedSample(report.added, report.added_attempts, sink.operation_id if report.added else None)


def sample_files(directory: Path) -> list[Path]:
    """Return the files of the sample data, in the order in which they are loaded. Empty if there are none."""
    story = (directory / "story" / f"{name}.jsonl" for name in STORY)
    return [*sorted(directory.glob("*.jsonl")), *(path for path in story if path.is_file())]


def measured_files(directory: Path) -> list[Path]:
    """Return the files on which the measurement depends."""
    return [path for path in (*sample_files(directory), directory / QUERIES) if path.is_file()]


def n_sample_experiences(memory: MemorySystem) -> int:
    """Return how many experiences are sample data."""
    return memory.experience.count(SAMPLE_EXPERIENCES)


def n_sample_records(memory: MemorySystem) -> int:
    """Return how many records of all memories are sample data."""
    return n_sample_experiences(memory) + sum(records.count(SAMPLE_RECORDS) for records in _other_memories(memory))


def remove_sample(memory: MemorySystem) -> str | None:
    """Delete all sample data as one operation. Return the operation's id, or None if there was no sample data.

    Undoing the operation restores the records, but not the judgements of sample records.
    """
    reason = "removed the sample data"
    scoped = memory.experience.as_operation("delete", reason)
    sample_ids = memory.experience.ids(SAMPLE_EXPERIENCES)
    n_removed = scoped.delete(sample_ids)
    for records in _other_memories(memory):
        if ids := records.ids(SAMPLE_RECORDS):
            n_removed += records.as_operation("delete", reason, operation_id=scoped.operation_id).delete(ids)
    of_sample = {*sample_ids}
    memory.storage.judgements.remove(each for each in memory.judgements() if each.record_id in of_sample)
    return scoped.operation_id if n_removed else None


def _store_judgements(memory: MemorySystem, path: Path) -> None:
    """Store the judged queries of a file, if it exists, with the attempts that were graded as right hits."""
    if not path.is_file():
        return
    document = json.loads(path.read_text(encoding="utf-8"))
    judged_at = datetime.fromisoformat(document["judged_at"])
    ids_by_task = defaultdict[str, list[str]](list)
    for row in memory.experience.browse(SAMPLE_EXPERIENCES):
        ids_by_task[row["metadata"]["task_id"]].append(row["id"])
    memory.storage.judgements.add(
        Judgement(
            query=query["query"],
            collection=memory.experience.collection_name,
            record_id=record_id,
            is_right=True,
            judged_at=judged_at,
        )
        for query in document["queries"]
        for task_id, grade in query["grades"].items()
        if grade >= RIGHT_GRADE
        for record_id in ids_by_task[task_id]
    )


def _other_memories(memory: MemorySystem) -> tuple[Memory[Any], ...]:
    return (memory.concepts, memory.strategies, memory.journal, memory.conversations)


def is_new(memory: MemorySystem) -> bool:
    """Return whether the store was never written to. An emptied store is not new."""
    return not memory.history(limit=1)
