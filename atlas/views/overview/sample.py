"""The sample data: loading them for a first look, and removing them."""

from __future__ import annotations

from pathlib import Path

from atlas.importers.sample import load_sample, n_sample_records, remove_sample
from atlas.memory.system import MemorySystem
from atlas.views.shared.plans import CompletedAct
from atlas.views.shared.wording import counted


def load_sample_data(memory: MemorySystem, directory: Path) -> CompletedAct | None:
    """Import the sample data. Return None if the store already contains all of it."""
    loaded = load_sample(memory, directory, memory.storage.settings)
    if loaded.operation_id is None:
        return None
    return CompletedAct(loaded.operation_id, f"Loaded {counted(loaded.added, 'record')} of sample data")


def remove_sample_data(memory: MemorySystem) -> CompletedAct | None:
    """Delete only the sample data. Return the act, or None if the store has no sample data."""
    n_removed = n_sample_records(memory)
    operation_id = remove_sample(memory)
    return (
        CompletedAct(operation_id, f"Deleted the sample data, {counted(n_removed, 'record')}") if operation_id else None
    )
