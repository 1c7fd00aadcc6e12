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
    fixes = fix_texts(memory, {entry.id: _fix_ids(entry) for entry in entries if entry.entry_type == CRASH})
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
            marks=_marks_line(entry.tier, marks.get(entry.id, NO_MARKS)),
            state=_row_state(entry.tier, marks.get(entry.id, NO_MARKS), fixes.get(entry.id)),
            **ranking(hits or {}, entry.id),
        )
        for entry in entries
    )


def light_rows(memory: MemorySystem, rows: Sequence[Mapping[str, Any]]) -> tuple[EntryRow, ...]:
    """Return lines for entries as the store lists them, which is without their whole content."""
    marks, now = memory.journal.marks([row["id"] for row in rows]), memory.storage.ledger.clock.now()
    listed = {row["id"]: row["metadata"] for row in rows}
    crashes = {
        entry_id: fields.get("fixed_by", ()) for entry_id, fields in listed.items() if fields["entry_type"] == CRASH
    }
    fixes, solved = fix_texts(memory, crashes), solved_texts(memory, [*listed])
    promoted_to = {entry_id: _texts_in(fields.get(PROMOTIONS)) for entry_id, fields in listed.items()}
    promotions = promotion_texts(memory, promoted_to)
    writers = writers_of(memory, {entry_id: fields.get(f"{METADATA}{AGENT}") for entry_id, fields in listed.items()})
    return tuple(
        EntryRow(
            id=entry_id,
            entry_type=type_word(fields["entry_type"]),
            generation=fields["generation"],
            content=fields["title"],
            importance=fields["importance"],
            tier=state_word(fields["tier"]),
            writer=writers.get(entry_id, ""),
            promotion=promotions.get(entry_id, ""),
            links=_with_age(fixes.get(entry_id, ""), stored_instant(fields), now) or solved.get(entry_id, ""),
            created_at=stored_instant(fields),
            marks=_marks_line(fields["tier"], marks.get(entry_id, NO_MARKS)),
            state=_row_state(fields["tier"], marks.get(entry_id, NO_MARKS), fixes.get(entry_id)),
        )
        for entry_id, fields in listed.items()
    )


def _texts_in(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list | tuple) else []


def count_with_crashes(memory: MemorySystem, query: Query) -> Count:
    """Return the number of entries that pass the filter, and how many crashes among them have no fix.

    That sentence is left out if there are none, or if all entries are such. The note names the filter of fixes, or the
    days of the whole journal, and the order of the list.
    """
    fixes = query.values.get("fixes")
    note = str(fixes).lower() if fixes in (NOT_FIXED, FIXED) else "" if query.where else _days_text(memory)
    note = " · ".join(filter(None, [note, order_text(JOURNAL, query)]))
    count_entries, crashes = memory.journal.count, conjunction(query.where, {"entry_type": CRASH})
    n_entries, n_crashes = count_entries(query.where), count_entries(crashes)
    n_open = n_crashes - count_entries(conjunction(crashes, HAS_FIX))
    verb = "has" if n_open == 1 else "have"
    if not 0 < n_open < n_entries:
        return Count(n_entries, note=note)
    sentence = f"{n_open:,} of {counted(n_crashes, 'crash')} {verb} no fix yet"
    return Count(n_entries, note=note, narrowing=Narrowing(sentence, "fixes", NOT_FIXED))


def _days_text(memory: MemorySystem) -> str:
    """Return the first and the last day: `31 Aug 2026 to 18 Nov 2026`, or an empty string without a known time."""
    times = (
        stored_instant(row["metadata"])
        for is_latest in (False, True)
        for row in memory.journal.browse(descending=is_latest, limit=1)
    )
    return " to ".join(dict.fromkeys(day_text(time) for time in times if time))


def writers_of(memory: MemorySystem, agents: Mapping[str, Any]) -> dict[str, str]:
    """Return the writers of entries, by id, or nothing if all have the same writer.

    The person who imported entries is not their writer, so an imported entry has one only if it names its agent.

    Args:
        agents: The agents that the entries name, by the id of the entry, or None.
    """
    origins = memory.storage.ledger.history.origins(memory.journal.collection_name, [*agents])
    stored_by = {entry_id: origin.actor for entry_id, origin in origins.items() if origin.kind != IMPORT}
    writers = {entry_id: str(agent or stored_by.get(entry_id, "")) for entry_id, agent in agents.items()}
    return writers if len({*writers.values()}) > 1 else {}


def conjunction(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filter for entries that meet both conditions. The first may be empty."""
    return {"$and": [dict(first), dict(second)]} if first else dict(second)


def _marks_line(tier: str, marks: Marks) -> str:
    """Return the marks of an entry, after its state if prompts leave it out."""
    return ", ".join(filter(None, ["" if tier in PROMPT_TIERS else state_word(tier), marks_text(marks)]))


def _row_state(tier: str, marks: Marks, fix: str | None) -> RowState:
    """Return how a row is drawn: retired if it is archived, as a problem if its text says that it has no fix."""
    return row_state(marks, is_problem=fix == NO_FIX, is_retired=tier == TIERS[-1])


def _with_age(fix: str, crashed_at: datetime | None, now: datetime) -> str:
    """Return the text on a crash's fix. If there is no fix yet, the days since the crash are added, in UTC."""
    if fix != NO_FIX or crashed_at is None:
        return fix
    n_days = (now.astimezone(UTC).date() - crashed_at.astimezone(UTC).date()).days
    return f"{fix} · {counted(n_days, 'day')}" if n_days > 0 else fix


def fix_texts(memory: MemorySystem, fixes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return `✓ fixed 2 Nov 2026` or `✗ no fix yet` for each crash, by its id.

    Args:
        fixes: Ids of the fixes of each crash, by its id.
    """
    fix_ids = {fix for ids in fixes.values() for fix in ids}
    times = memory.journal.column("created_at", {"id": {"$in": [*fix_ids]}}) if fix_ids else {}
    fixed_at = {
        crash_id: [stored_instant(times, fix) for fix in ids if fix in times] for crash_id, ids in fixes.items()
    }
    return {
        crash_id: f"✓ fixed {day_text(min(found).astimezone(UTC))}" if found else NO_FIX
        for crash_id, found in fixed_at.items()
    }


def solved_texts(memory: MemorySystem, entry_ids: Sequence[str]) -> dict[str, str]:
    """Return `✓ fixes the crash of 26 Oct 2026`, or `✓ fixes 2 crashes`, for each entry that fixed any, by its id."""
    solved: dict[str, list[datetime]] = {entry_id: [] for entry_id in entry_ids}
    for row in memory.journal.browse({"entry_type": CRASH, "fixed_by": {"$in": [*entry_ids]}}):
        for entry_id in solved.keys() & row["metadata"]["fixed_by"]:
            solved[entry_id].append(stored_instant(row["metadata"]))
    return {
        entry_id: f"✓ fixes the crash of {day_text(times[0])}" if len(times) == 1 else f"✓ fixes {len(times):,} crashes"
        for entry_id, times in solved.items()
        if times
    }


def fix_of(memory: MemorySystem, entry: JournalEntry) -> str:
    """Return `✓ fixed 2 Nov 2026` or `✗ no fix yet` of a crash, and nothing of another entry."""
    return fix_texts(memory, {entry.id: _fix_ids(entry)})[entry.id] if entry.entry_type == CRASH else ""


def _fix_ids(entry: JournalEntry) -> list[str]:
    return [link.target_id for link in entry.links if link.type == "fixed_by"]


def beginning(content: str) -> str:
    """Return the beginning of an entry's text, on one line."""
    return " ".join(content[:CONTENT_CHARACTERS].split())
