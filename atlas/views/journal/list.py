"""The lines of the list of a journal's entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from atlas.core.hits import Hit
from atlas.core.journal_codec import LINK_TYPES, TIERS
from atlas.core.operations import NO_MARKS, Marks
from atlas.core.types import JournalEntry
from atlas.memory.journal.links import CRASH
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.kinds.journal_words import state_word, type_word
from atlas.views.lists.queries import Row, marks_text, ranking

CONTENT_CHARACTERS = 400

LINKED = {
    "caused_by": "has a cause",
    "summarises": "sums up {:,}",
    "refers_to": "refers to {:,}",
    "related": "{:,} related",
}
"""Words for an entry's links to others, by their type. A fix comes before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow(Row):
    """One line of a list of entries. Texts from the store are untrusted."""

    entry_type: str
    """Its type in plain words."""

    generation: int
    content: str
    """The beginning of its text, on one line."""

    importance: float
    """Value in [0, 1]."""

    tier: str
    """Its tier in plain words."""

    links: str
    """Its links to others, as `fixed · 2 related`."""

    created_at: datetime | None
    """Time in UTC."""


def entry_rows(
    memory: MemorySystem,
    entries: Sequence[JournalEntry],
    hits: Mapping[str, Hit[str]] | None = None,
) -> tuple[EntryRow, ...]:
    """Return the rows of loaded entries.

    Args:
        hits: The hits of the search that found the entries, by id. None without a search.
    """
    marks = memory.journal.marks([entry.id for entry in entries])
    return tuple(
        EntryRow(
            id=entry.id,
            entry_type=type_word(entry.entry_type),
            generation=entry.generation,
            content=beginning(entry.content),
            importance=entry.importance,
            tier=state_word(entry.tier),
            links=links_text(entry.entry_type, Counter(link.type for link in entry.links)),
            created_at=entry.created_at.astimezone(UTC) if entry.created_at else None,
            marks=_marks(entry.tier, marks.get(entry.id, NO_MARKS)),
            **ranking(hits or {}, entry.id),
        )
        for entry in entries
    )


def light_rows(memory: MemorySystem, rows: Sequence[Mapping[str, Any]]) -> tuple[EntryRow, ...]:
    """Return lines for rows of the store, without their whole content."""
    marks = memory.journal.marks([row["id"] for row in rows])
    return tuple(
        EntryRow(
            id=row["id"],
            entry_type=type_word(row["metadata"]["entry_type"]),
            generation=row["metadata"]["generation"],
            content=row["metadata"]["title"],
            importance=row["metadata"]["importance"],
            tier=state_word(row["metadata"]["tier"]),
            links=links_text(
                row["metadata"]["entry_type"], {name: len(row["metadata"].get(name, ())) for name in LINK_TYPES}
            ),
            created_at=stored_instant(row["metadata"]),
            marks=_marks(row["metadata"]["tier"], marks.get(row["id"], NO_MARKS)),
        )
        for row in rows
    )


def _marks(tier: str, marks: Marks) -> str:
    """Return the marks of an entry, after its state if it is not active."""
    return ", ".join(filter(None, ["" if tier == TIERS[0] else state_word(tier), marks_text(marks)]))


def links_text(entry_type: str, n_by_type: Mapping[str, int]) -> str:
    """Return the links of an entry in words, the fix of a crash first."""
    fix = "fixed" if n_by_type.get("fixed_by") else "no fix yet" if entry_type == CRASH else ""
    return " · ".join(
        filter(None, [fix, *(words.format(n) for name, words in LINKED.items() if (n := n_by_type.get(name)))])
    )


def beginning(content: str) -> str:
    """Return the beginning of an entry's text, on one line."""
    return " ".join(content[:CONTENT_CHARACTERS].split())
