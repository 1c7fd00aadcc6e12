"""Files that the overview is about: the sample data, and what the store takes on disk."""

from __future__ import annotations

from pathlib import Path

from atlas import MemorySystem
from atlas.importers.sample import load_sample, n_sample, remove_sample
from atlas.views.shared.done import Done
from atlas.views.shared.wording import counted

SAMPLE = Path(__file__).resolve().parents[3] / "sample_data"


def has_sample() -> bool:
    """Say whether there is sample data to load."""
    return any(SAMPLE.glob("*.jsonl"))


def load_sample_data(memory: MemorySystem) -> Done | None:
    """Import the sample data; None where the store held all of it."""
    loaded = load_sample(memory, SAMPLE, memory.storage.settings)
    if loaded.operation_id is None:
        return None
    return Done(loaded.operation_id, f"Loaded {counted(loaded.added, 'experience')} of sample data")


def remove_sample_data(memory: MemorySystem) -> Done | None:
    """Delete the sample data and nothing else; None where there is none."""
    n_removed = n_sample(memory)
    operation_id = remove_sample(memory)
    return Done(operation_id, f"Removed the sample data, {counted(n_removed, 'experience')}") if operation_id else None


def n_bytes(directory: Path) -> int:
    """Return what the files of a directory take on disk."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # gone between being listed and being looked at
            continue
    return total
