"""Sample data: demonstration attempts for a new store, which can be removed in one step.

A story beside the attempts fills the other memories. See `sample_data/README.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
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

IS_SAMPLE = {"is_sample": True}
"""Filter that matches exactly the experiences of the sample data."""

IS_SAMPLE_ELSEWHERE = {f"{METADATA}is_sample": True}
"""Filter for sample records of the other memories."""


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

    A new store uses the measurement of searches that is part of the data.

    Raises:
        ImportFailed: The data is missing, or a row of it cannot be read.
    """
    files = sample_files(directory)
    if not files:
        raise ImportFailed(f"there is no sample data in {directory}: expected *.jsonl files there")
    sink, was_new = MemorySink(memory, "sample data"), is_new(memory)
    report = import_paths(sink, files, strict=True, settings=settings)
    if was_new:
        store_measurement(memory, files, directory)
    return LoadedSample(report.added, report.added_attempts, sink.operation_id if report.added else None)


def sample_files(directory: Path) -> list[Path]:
    """Return the files of the sample data, in the order in which they are loaded. Empty if there are none."""
    story = (directory / "story" / f"{name}.jsonl" for name in STORY)
    return [*sorted(directory.glob("*.jsonl")), *(path for path in story if path.is_file())]


def n_sample_experiences(memory: MemorySystem) -> int:
    """Return how many experiences are sample data."""
    return memory.experience.count(IS_SAMPLE)


def n_sample_records(memory: MemorySystem) -> int:
    """Return how many records of all memories are sample data."""
    return n_sample_experiences(memory) + sum(records.count(IS_SAMPLE_ELSEWHERE) for records in _other_memories(memory))


def remove_sample(memory: MemorySystem) -> str | None:
    """Delete all sample data as one operation. Return the operation's id, or None if there was no sample data."""
    reason = "removed the sample data"
    scoped = memory.experience.within("delete", reason)
    n_removed = scoped.delete(memory.experience.ids(IS_SAMPLE))
    for records in _other_memories(memory):
        if ids := records.ids(IS_SAMPLE_ELSEWHERE):
            n_removed += records.within("delete", reason, operation_id=scoped.operation_id).delete(ids)
    return scoped.operation_id if n_removed else None


def _other_memories(memory: MemorySystem) -> tuple[Memory[Any], ...]:
    return (memory.concepts, memory.strategies, memory.journal, memory.conversations)


def is_new(memory: MemorySystem) -> bool:
    """Return whether the store was never written to. A store that was emptied does not count as new."""
    return not memory.history(limit=1)
