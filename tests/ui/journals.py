"""Journals to open the pages on."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from atlas.core.types import JournalEntry
from tests.ui.library import opened_library
from tests.ui.stores import START

TYPES = ("observation", "crash_log", "reflection", "task")


def entry(number: int = 0, **given) -> JournalEntry:
    """An entry of its own generation; whatever is not given does not matter."""
    content = given.pop("content", f"The worker of customer {number} read page {number * 37 % 101} of the report")
    return JournalEntry(
        entry_type=given.pop("entry_type", TYPES[number % len(TYPES)]),
        content=content,
        generation=given.pop("generation", number),
        created_at=given.pop("created_at", START + timedelta(hours=number)),
        **given,
    )


def make_journal(path: Path, *entries: JournalEntry) -> list[str]:
    """A store with these entries at a path; their ids."""
    with opened_library(path) as memory:
        return memory.journal.add_entries(entries)
