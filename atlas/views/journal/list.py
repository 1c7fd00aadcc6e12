"""The lines of the list of a journal's entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from atlas.core.filters import METADATA
from atlas.core.hits import Hit
from atlas.core.journal_codec import TIERS
from atlas.core.operations import NO_MARKS, Marks
from atlas.core.types import JournalEntry
from atlas.memory.journal.entries import PROMPT_TIERS
from atlas.memory.journal.links import CRASH
from atlas.memory.journal.records import PROMOTED_TO, promotions_of
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.journal.promotion import promotion_texts
from atlas.views.kinds.journal import FIXED, HAS_FIX, JOURNAL, NOT_FIXED
from atlas.views.kinds.journal_words import state_word, type_word
from atlas.views.lists.listing import order_text
from atlas.views.lists.queries import Count, Narrowing, Query, Row, RowState, marks_text, ranking, row_state
from atlas.views.shared.wording import counted, day_text

CONTENT_CHARACTERS = 400

AGENT = "agent"
"""Key of the metadata in which an entry may name the agent that wrote it."""

PROMOTIONS = f"{METADATA}{PROMOTED_TO}"
"""Key of the stored promotions of an entry."""

IMPORT = "import"
"""Kind of the operations of an import."""

NO_FIX = "✗ no fix yet"

HIGH = 0.85
"""Least importance that is called high."""


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

    writer: str = ""
    """Name of the agent or person who wrote it, or empty if all rows have the same writer. Untrusted."""

    promotion: str = ""
    """`became a strategy`, or empty if it was not promoted."""

    links: str
    """`✓ fixed 2 Nov 2026` or `✗ no fix yet · 18 days` of a crash, `✓ fixes the crash of 26 Oct 2026`, or empty."""

    created_at: datetime | None
    """Time in UTC."""

    @property
    def facts(self) -> tuple[str, ...]:
        """Its links, what it became, and its importance if it is high."""
        return tuple(filter(None, (self.links, self.promotion, "high importance" if self.importance >= HIGH else "")))


def entry_rows(
    memory: MemorySystem,
    entries: Sequence[JournalEntry],
    hits: Mapping[str, Hit[str]] | None = None,
) -> tuple[EntryRow, ...]:
    """Return the rows of loaded entries.

    Args:
        hits: The hits of the search that found the entries, by id. None without a search.
    """
    marks, now = memory.journal.marks([entry.id for entry in entries]), memory.storage.ledger.clock.now()
    fixes = fix_texts(memory, {entry.id: _fixes(entry) for entry in entries if entry.entry_type == CRASH})
    solved = solved_texts(memory, [entry.id for entry in entries])
    promotions = promotion_texts(memory, {entry.id: promotions_of(entry) for entry in entries})
    writers = writers_of(memory, {entry.id: entry.metadata.get(AGENT) for entry in entries})
    return tuple(
        EntryRow(
            id=entry.id,
            entry_type=type_word(entry.entry_type),
            generation=entry.generation,
            content=beginning(entry.content),
            importance=entry.importance,
            tier=state_word(entry.tier),
            writer=writers.get(entry.id, ""),
            promotion=promotions.get(entry.id, ""),
            links=_with_age(fixes.get(entry.id, ""), entry.created_at, now) or solved.get(entry.id, ""),
            created_at=entry.created_at.astimezone(UTC) if entry.created_at else None,
            marks=_marks(entry.tier, marks.get(entry.id, NO_MARKS)),
            state=_state(entry.tier, marks.get(entry.id, NO_MARKS), fixes.get(entry.id)),
            **ranking(hits or {}, entry.id),
        )
        for entry in entries
    )


def light_rows(memory: MemorySystem, rows: Sequence[Mapping[str, Any]]) -> tuple[EntryRow, ...]:
    """Return lines for rows of the store, without their whole content."""
    marks, now = memory.journal.marks([row["id"] for row in rows]), memory.storage.ledger.clock.now()
    listed = {row["id"]: row["metadata"] for row in rows}
    crashes = {each: found.get("fixed_by", ()) for each, found in listed.items() if found["entry_type"] == CRASH}
    fixes, solved = fix_texts(memory, crashes), solved_texts(memory, [*listed])
    promotions = promotion_texts(memory, {each: _texts(found.get(PROMOTIONS)) for each, found in listed.items()})
    writers = writers_of(memory, {each: found.get(f"{METADATA}{AGENT}") for each, found in listed.items()})
    return tuple(
        EntryRow(
            id=entry_id,
            entry_type=type_word(found["entry_type"]),
            generation=found["generation"],
            content=found["title"],
            importance=found["importance"],
            tier=state_word(found["tier"]),
            writer=writers.get(entry_id, ""),
            promotion=promotions.get(entry_id, ""),
            links=_with_age(fixes.get(entry_id, ""), stored_instant(found), now) or solved.get(entry_id, ""),
            created_at=stored_instant(found),
            marks=_marks(found["tier"], marks.get(entry_id, NO_MARKS)),
            state=_state(found["tier"], marks.get(entry_id, NO_MARKS), fixes.get(entry_id)),
        )
        for entry_id, found in listed.items()
    )


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def count_with_crashes(memory: MemorySystem, query: Query) -> Count:
    """Return the number of entries, with how many crashes among them have no fix, unless all entries are such.

    The note on them is what they are, or the days of a whole journal, and their order.
    """
    fixes = query.values.get("fixes")
    note = str(fixes).lower() if fixes in (NOT_FIXED, FIXED) else "" if query.where else _days(memory)
    note = " · ".join(filter(None, [note, order_text(JOURNAL, query)]))
    count, crashes = memory.journal.count, conjunction(query.where, {"entry_type": CRASH})
    n, n_crashes = count(query.where), count(crashes)
    n_open = n_crashes - count(conjunction(crashes, HAS_FIX))
    have = "has" if n_open == 1 else "have"
    if not 0 < n_open < n:
        return Count(n, note=note)
    sentence = f"{n_open:,} of {counted(n_crashes, 'crash')} {have} no fix yet"
    return Count(n, note=note, narrowing=Narrowing(sentence, "fixes", NOT_FIXED))


def _days(memory: MemorySystem) -> str:
    """Return `31 Aug 2026 to 18 Nov 2026`, or an empty string without a known time."""
    ends = (
        stored_instant(row["metadata"])
        for is_last in (False, True)
        for row in memory.journal.browse(descending=is_last, limit=1)
    )
    return " to ".join(dict.fromkeys(day_text(end) for end in ends if end))


def writers_of(memory: MemorySystem, agents: Mapping[str, Any]) -> dict[str, str]:
    """Return who wrote entries, by id, empty if they do not differ in it.

    An import does not record who wrote its entries, unless they name their agent.

    Args:
        agents: The agents that the entries name, by the id of the entry, or None.
    """
    origins = memory.storage.ledger.history.origins(memory.journal.collection_name, [*agents])
    stored_by = {entry_id: origin.actor for entry_id, origin in origins.items() if origin.kind != IMPORT}
    writers = {entry_id: str(agent or stored_by.get(entry_id, "")) for entry_id, agent in agents.items()}
    return writers if len({*writers.values()}) > 1 else {}


def conjunction(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filter that both conditions hold, of which the first may be empty."""
    return {"$and": [dict(first), dict(second)]} if first else dict(second)


def _marks(tier: str, marks: Marks) -> str:
    """Return the marks of an entry, after its state if prompts leave it out."""
    return ", ".join(filter(None, ["" if tier in PROMPT_TIERS else state_word(tier), marks_text(marks)]))


def _state(tier: str, marks: Marks, fix: str | None) -> RowState:
    """Return whether an entry is archived, or a crash without a fix, given the text of its fix."""
    return row_state(marks, is_problem=fix == NO_FIX, is_retired=tier == TIERS[-1])


def _with_age(fix: str, at: datetime | None, now: datetime) -> str:
    """Return the text of a crash's fix, and behind `✗ no fix yet` the days since that of the crash, in UTC."""
    n_days = (now.astimezone(UTC).date() - at.astimezone(UTC).date()).days if fix == NO_FIX and at else 0
    return f"{fix} · {counted(n_days, 'day')}" if n_days > 0 else fix


def fix_texts(memory: MemorySystem, fixes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return `✓ fixed 2 Nov 2026` or `✗ no fix yet` of crashes, by id, given the ids of their fixes."""
    every = {fix for ids in fixes.values() for fix in ids}
    times = memory.journal.column("created_at", {"id": {"$in": [*every]}}) if every else {}
    fixed_at = {
        crash_id: [stored_instant(times, fix) for fix in ids if fix in times] for crash_id, ids in fixes.items()
    }
    return {
        crash_id: f"✓ fixed {day_text(min(found).astimezone(UTC))}" if found else NO_FIX
        for crash_id, found in fixed_at.items()
    }


def solved_texts(memory: MemorySystem, entry_ids: Sequence[str]) -> dict[str, str]:
    """Return `✓ fixes the crash of 26 Oct 2026` of entries that fixed one, by id, or how many they fixed."""
    solved: dict[str, list[datetime]] = {entry_id: [] for entry_id in entry_ids}
    for row in memory.journal.browse({"entry_type": CRASH, "fixed_by": {"$in": [*entry_ids]}}):
        for entry_id in solved.keys() & row["metadata"]["fixed_by"]:
            solved[entry_id].append(stored_instant(row["metadata"]))
    return {
        entry_id: f"✓ fixes the crash of {day_text(ends[0])}" if len(ends) == 1 else f"✓ fixes {len(ends):,} crashes"
        for entry_id, ends in solved.items()
        if ends
    }


def fix_of(memory: MemorySystem, entry: JournalEntry) -> str:
    """Return `✓ fixed 2 Nov 2026` or `✗ no fix yet` of a crash, and nothing of another entry."""
    return fix_texts(memory, {entry.id: _fixes(entry)})[entry.id] if entry.entry_type == CRASH else ""


def _fixes(entry: JournalEntry) -> list[str]:
    return [link.target_id for link in entry.links if link.type == "fixed_by"]


def beginning(content: str) -> str:
    """Return the beginning of an entry's text, on one line."""
    return " ".join(content[:CONTENT_CHARACTERS].split())
