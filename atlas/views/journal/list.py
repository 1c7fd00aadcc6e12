"""The lines of the list of a journal's entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from atlas.core.hits import Hit
from atlas.core.journal_codec import TIERS
from atlas.core.operations import NO_MARKS, Marks
from atlas.core.types import JournalEntry, Link
from atlas.memory.journal.links import CRASH
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.kinds.journal import NOT_FIXED
from atlas.views.kinds.journal_words import state_word, type_word
from atlas.views.lists.queries import Count, Narrowing, Query, Row, marks_text, ranking
from atlas.views.shared.wording import counted, shortened

CONTENT_CHARACTERS = 400

TITLE_CHARACTERS = 60
"""The part of a linked entry that names it."""

LINKED = {"summarises": "sums up", "refers_to": "refers to", "related": "related to"}
"""Words for an entry's other links, by their type. Its cause and its fix are named before them."""

MAX_LOOKED_UP = 20
"""Links of one type and entry that are looked up. A summary may have thousands, of which the row names the first."""


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
    """Its cause, its fix and its links to others, as `✓ fixed in round 11 · refers to “Stock is too high”`."""

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
    links = links_texts(memory, {entry.id: (entry.entry_type, _targets(entry.links)) for entry in entries})
    return tuple(
        EntryRow(
            id=entry.id,
            entry_type=type_word(entry.entry_type),
            generation=entry.generation,
            content=beginning(entry.content),
            importance=entry.importance,
            tier=state_word(entry.tier),
            links=links[entry.id],
            created_at=entry.created_at.astimezone(UTC) if entry.created_at else None,
            marks=_marks(entry.tier, marks.get(entry.id, NO_MARKS)),
            **ranking(hits or {}, entry.id),
        )
        for entry in entries
    )


def light_rows(memory: MemorySystem, rows: Sequence[Mapping[str, Any]]) -> tuple[EntryRow, ...]:
    """Return lines for rows of the store, without their whole content."""
    marks = memory.journal.marks([row["id"] for row in rows])
    listed = {row["id"]: row["metadata"] for row in rows}
    links = links_texts(memory, {each: (found["entry_type"], found) for each, found in listed.items()})
    return tuple(
        EntryRow(
            id=entry_id,
            entry_type=type_word(found["entry_type"]),
            generation=found["generation"],
            content=found["title"],
            importance=found["importance"],
            tier=state_word(found["tier"]),
            links=" · ".join(filter(None, [_marks(found["tier"], marks.get(entry_id, NO_MARKS)), links[entry_id]])),
            created_at=stored_instant(found),
            marks=_marks(found["tier"], marks.get(entry_id, NO_MARKS)),
        )
        for entry_id, found in listed.items()
    )


def count_with_crashes(memory: MemorySystem, query: Query) -> Count:
    """Return the number of entries, with how many crashes among them have no fix, unless all entries are such."""
    crashes = memory.journal.ids(_both(query.where, {"entry_type": CRASH}))
    n_open = len(crashes) - len({*crashes} & {*memory.journal.column("fixed_by")})
    n, have = memory.journal.count(query.where), "has" if n_open == 1 else "have"
    if not 0 < n_open < n:
        return Count(n)
    sentence = f"{n_open:,} of {counted(len(crashes), 'crash')} {have} no fix yet"
    return Count(n, narrowing=Narrowing(sentence, "fixes", NOT_FIXED))


def _both(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    return {"$and": [dict(first), dict(second)]} if first else dict(second)


def _marks(tier: str, marks: Marks) -> str:
    """Return the marks of an entry, after its state if it is not active."""
    return ", ".join(filter(None, ["" if tier == TIERS[0] else state_word(tier), marks_text(marks)]))


def links_texts(memory: MemorySystem, entries: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return the links of entries in words, by id, the fix and the cause first, with the number of the rest.

    Args:
        entries: The type of each entry and the ids that it is linked to, by type of link.
    """
    fixed = _fixed_by(memory, entries)
    named = {
        target
        for _, links in entries.values()
        for name in ("fixed_by", "caused_by", *LINKED)
        for target in links.get(name, ())[:MAX_LOOKED_UP]
    }
    where = {"id": {"$in": [*named, *(crash for crashes in fixed.values() for crash in crashes)]}}
    rounds, titles = (memory.journal.column(key, where) for key in ("generation", "title"))

    def name(entry_id: str) -> str:
        return f"“{shortened(' '.join(titles.get(entry_id, '').split()), TITLE_CHARACTERS)}”"

    def parts(entry_id: str) -> Iterator[str]:
        entry_type, links = entries[entry_id]
        fixes = [rounds[each] for each in links.get("fixed_by", ()) if each in rounds]
        if entry_type == CRASH:
            yield f"✓ fixed in round {min(fixes):,}" if fixes else "✗ no fix yet"
        yield from (f"fixes {name(each)}" for each in fixed.get(entry_id, ()) if each in rounds)
        yield from (f"follows {name(each)}" for each in links.get("caused_by", ()) if each in rounds)
        for key, words in LINKED.items():
            if first := next((each for each in links.get(key, ()) if each in rounds), ""):
                n_more = len(links[key]) - 1
                yield f"{words} {name(first)}" + (f" (+{n_more:,})" if n_more else "")

    return {entry_id: " · ".join(parts(entry_id)) for entry_id in entries}


def _fixed_by(memory: MemorySystem, ids: Collection[str]) -> dict[str, list[str]]:
    """Return the crashes that each of some entries fixed."""
    crashes: dict[str, list[str]] = {}
    for crash_id, fixes in memory.journal.column("fixed_by").items():
        for fix in (fixes,) if isinstance(fixes, str) else fixes:
            if fix in ids:
                crashes.setdefault(fix, []).append(crash_id)
    return crashes


def _targets(links: Iterable[Link]) -> dict[str, list[str]]:
    """Return the ids that an entry is linked to, by type of link."""
    targets: dict[str, list[str]] = {}
    for link in links:
        targets.setdefault(link.type, []).append(link.target_id)
    return targets


def beginning(content: str) -> str:
    """Return the beginning of an entry's text, on one line."""
    return " ".join(content[:CONTENT_CHARACTERS].split())
