"""Sample data: attempts made for demonstration, which fill a new store and can be removed again as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atlas.core.errors import ImportFailed
from atlas.core.settings import Settings
from atlas.importers.run import import_paths
from atlas.importers.sink import MemorySink
from atlas.memory.system import MemorySystem

IS_SAMPLE = {"is_sample": True}
"""Filter that sample data passes, and nothing else does."""


@dataclass(frozen=True, slots=True)
class LoadedSample:
    """The result of loading the sample data."""

    added: int
    operation_id: str | None
    """Operation to undo, None where nothing was added."""


def load_sample(memory: MemorySystem, directory: Path, settings: Settings) -> LoadedSample:
    """Import the sample data of a directory, and skip what the store holds of it already.

    Raises:
        ImportFailed: There is none, or a row of it cannot be read.
    """
    files = sorted(directory.glob("*.jsonl"))
    if not files:
        raise ImportFailed(f"there is no sample data in {directory}: expected *.jsonl files there")
    sink = MemorySink(memory, "sample data")
    report = import_paths(sink, files, strict=True, settings=settings)
    return LoadedSample(report.added, sink.operation_id if report.added else None)


def n_sample(memory: MemorySystem) -> int:
    """Return how many experiences are sample data."""
    return memory.experience.count(IS_SAMPLE)


def remove_sample(memory: MemorySystem) -> str | None:
    """Delete all sample data as one operation, and return its id, or None where there is none."""
    scoped = memory.experience.within("delete", "removed the sample data")
    return scoped.operation_id if scoped.delete(memory.experience.ids(IS_SAMPLE)) else None


def is_new(memory: MemorySystem) -> bool:
    """Return whether nothing was ever stored. A store that was emptied is not filled with sample data again."""
    return not memory.history(limit=1)
