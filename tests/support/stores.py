"""Stores to open the pages on: made quickly, of the embedding model that the dashboard opens them with."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import atlas
from atlas.core.types import JournalEntry
from atlas.testing import HashEmbedder

MODEL = "all-MiniLM-L6-v2"
DIMENSION = 384


def opened_store(path: Path) -> atlas.MemorySystem:
    """The store at a path, beside the dashboard's own view of it."""
    return atlas.open_memory(path, embedder=HashEmbedder(DIMENSION, MODEL), settings=atlas.Settings())


def copied(template: Path, place: Path) -> Path:
    """Copy a store that several tests begin with, which is quicker than to make it again. Return the copy's path."""
    return Path(shutil.copytree(template, place, dirs_exist_ok=True))


def remove_store(path: Path) -> None:
    """Remove a store that pages show, whose threads may add a file to it meanwhile."""
    for _ in range(100):
        with suppress(OSError):
            shutil.rmtree(path)
        if not path.exists():
            return
    raise TimeoutError(f"the store {path} should be removed, but files were added to it again and again")


def make_store(path: Path, trajectories: Iterable[atlas.Trajectory] = ()) -> list[str]:
    """A store at a path; the ids of its experiences."""
    with opened_store(path) as memory:
        return memory.experience.store_many(trajectories)


def make_library(path: Path, *concepts: atlas.CodeConcept) -> list[str]:
    """A store with these concepts at a path; their ids."""
    with opened_store(path) as memory:
        return [memory.concepts.add_many([one])[0] for one in concepts]


def make_journal(path: Path, *entries: JournalEntry) -> list[str]:
    """A store with these entries at a path; their ids."""
    with opened_store(path) as memory:
        return memory.journal.add_entries(entries)
