"""The list of a journal's entries: a question, filters, an order and a page become rows. The store does the work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from atlas.core.hits import Hit
from atlas.core.journal_codec import LINK_TYPES, TIERS
from atlas.core.operations import NO_MARKS
from atlas.core.types import JournalEntry
from atlas.memory.base.ranking import explain
from atlas.memory.base.records import METADATA
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.kinds.filters import known_tags
from atlas.views.lists.highlighting import Source
from atlas.views.lists.hits import HitCard, hit_card
from atlas.views.lists.listing import (
    NEWEST,
    PAGE_ROWS,
    SEARCH_ROWS,
    Listing,
    Question,
    Row,
    best_matches,
    listed_caption,
    marks_text,
    on_page,
    page_start,
)
from atlas.views.shared.scope import BEST_MATCH
from atlas.views.shared.wording import counted, found_caption, hidden_text

ORDERS: Mapping[str, tuple[str, bool]] = {
    NEWEST: ("created_at", True),
    "Oldest first": ("created_at", False),
    "Latest generation first": ("generation", True),
    "Most important first": ("importance", True),
}
"""Orders of the list: our words for each, its key, and whether high values come first."""

CONTENT_CHARACTERS = 400

LOOKED_AT = 500
"""Latest entries whose metadata a box offers. A person may type any other."""

PAIRS_OFFERED = 100

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalQuery(Question):
    """A person's question, and what narrows it."""

    by: str = BEST_MATCH
    """`BEST_MATCH` or `WORDS`."""

    types: tuple[Any, ...] = ()
    """Only these, or all if empty. The same holds for the next three."""

    tiers: tuple[str, ...] = ()
    tags: tuple[Any, ...] = ()
    metadata: tuple[str, ...] = ()
    """Each is `key=value`. An entry must hold all of them."""

    since: int | None = None
    """The first generation."""

    until: int | None = None
    """The last generation."""

    order: str = NEWEST
    """A key of `ORDERS`. A search has its own order."""

    @property
    def is_by_words(self) -> bool:
        """True if only words count, so that no text is embedded."""
        return self.by != BEST_MATCH

    def where(self, *, with_generations: bool = True) -> dict[str, Any]:
        """Return the filter as the store takes it."""
        wanted = {"entry_type": self.types, "tier": self.tiers, "marks.tags": self.tags}
        where: dict[str, Any] = {key: {"$in": list(values)} for key, values in wanted.items() if values}
        generations = {"$gte": self.since, "$lte": self.until} if with_generations else {}
        if bounds := {name: bound for name, bound in generations.items() if bound is not None}:
            where["generation"] = bounds
        if self.metadata:
            where["$and"] = [_pair_filter(pair) for pair in self.metadata]
        return where


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """Values that narrow the list, with how many entries have each. Untrusted text."""

    types: Mapping[Any, int]
    """Most frequent first, as are the tags."""

    tiers: Mapping[str, int]
    """In their order, from hot to archived."""

    tags: Mapping[Any, int]
    metadata: Mapping[str, int]
    """`key=value`, among the latest entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow(Row):
    """One line of a list of entries. Texts from the store are untrusted."""

    entry_type: str
    generation: int
    content: str
    """Its beginning, on one line."""

    importance: float
    """In [0, 1]."""

    tier: str
    n_links: int
    """Links that it has to others."""

    created_at: datetime | None
    """In UTC."""

    how: str = ""
    """Its relation to another one, in our own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntries:
    """Everything that answers a question, best first, at most `SEARCH_ROWS`."""

    entries: tuple[JournalEntry, ...]
    hits: Mapping[str, Hit[str]] = field(default_factory=dict)
    """By id. Empty if the search ranked by words alone."""

    n_hidden: int = 0
    """How many would be among them, but have too little to do with the question."""


def journal_options(memory: MemorySystem) -> JournalOptions:
    """Return the values that the list of entries can be narrowed by."""
    tiers = memory.journal.values("tier")
    return JournalOptions(
        types=memory.journal.values("entry_type"),
        tiers={tier: tiers[tier] for tier in TIERS if tier in tiers},
        tags=known_tags(memory.journal),
        metadata=_pairs(memory),
    )


def search_entries(memory: MemorySystem, query: JournalQuery) -> FoundEntries:
    """Return the answers to a question, in every tier. Looking counts as no retrieval."""
    if query.is_by_words:
        found = memory.journal.search_words(query.text, SEARCH_ROWS, where=query.where(), with_buried=True)
        return FoundEntries(entries=tuple(found))
    ranked = best_matches(memory.journal, query.text, query.where(), with_irrelevant=query.with_irrelevant)
    return FoundEntries(
        entries=tuple(hit.item for hit in ranked.hits),
        hits={hit.item.id: hit.of(hit.item.id) for hit in ranked.hits},
        n_hidden=ranked.n_hidden,
    )


def found_page(memory: MemorySystem, query: JournalQuery, found: FoundEntries, page: int = 1) -> Listing[EntryRow]:
    """Return one page of what a search found, counted from 1."""
    n = len(found.entries)
    shown = on_page(found.entries, page)
    hits = [found.hits.get(entry.id) for entry in shown]
    relevance = {hit.item: (hit.relevance, explain(hit)) for hit in hits if hit is not None}
    return Listing(
        rows=entry_rows(memory, shown, relevance), n=n, caption=_search_caption(memory, query, n, found.n_hidden)
    )


def listed_page(memory: MemorySystem, query: JournalQuery, page: int = 1) -> Listing[EntryRow]:
    """Return one page of the list without a question, counted from 1. Of its entries only the beginnings are read."""
    where, (order_by, descending) = query.where(), ORDERS[query.order]
    n = memory.journal.count(where)
    offset = page_start(page, n)
    rows = memory.journal.browse(where, order_by=order_by, descending=descending, limit=PAGE_ROWS, offset=offset)
    caption = listed_caption(n, memory.journal.count(), "entry", is_narrow=bool(where))
    return Listing(rows=light_rows(memory, rows), n=n, caption=caption)


def entry_rows(
    memory: MemorySystem,
    entries: Sequence[JournalEntry],
    relevance: Mapping[str, tuple[float, str]] | None = None,
    how: Mapping[str, str] | None = None,
) -> tuple[EntryRow, ...]:
    """Return lines for entries that are at hand.

    Args:
        relevance: How much each has to do with a question, and why it stands where it does, by id.
        how: What each has to do with another one, by id.
    """
    marks = memory.journal.marks([entry.id for entry in entries])
    ranked = relevance or {}
    return tuple(
        EntryRow(
            id=entry.id,
            entry_type=entry.entry_type,
            generation=entry.generation,
            content=beginning(entry.content),
            importance=entry.importance,
            tier=entry.tier,
            n_links=len(entry.links),
            created_at=entry.created_at.astimezone(UTC) if entry.created_at else None,
            marks=marks_text(marks.get(entry.id, NO_MARKS)),
            how=(how or {}).get(entry.id, ""),
            relevance=ranked[entry.id][0] if entry.id in ranked else None,
            why=ranked[entry.id][1] if entry.id in ranked else "",
        )
        for entry in entries
    )


def light_rows(memory: MemorySystem, rows: Sequence[Mapping[str, Any]]) -> tuple[EntryRow, ...]:
    """Return lines for rows of the store, without their whole content."""
    marks = memory.journal.marks([row["id"] for row in rows])
    return tuple(
        EntryRow(
            id=row["id"],
            entry_type=row["metadata"]["entry_type"],
            generation=row["metadata"]["generation"],
            content=row["metadata"]["title"],
            importance=row["metadata"]["importance"],
            tier=row["metadata"]["tier"],
            n_links=sum(len(row["metadata"].get(name, ())) for name in LINK_TYPES),
            created_at=stored_instant(row["metadata"]),
            marks=marks_text(marks.get(row["id"], NO_MARKS)),
        )
        for row in rows
    )


def similar_entries(memory: MemorySystem, entry_id: str, k: int = 8) -> tuple[EntryRow, ...]:
    """Return the entries nearest in meaning to one."""
    hits = memory.journal.similar(entry_id, k, with_buried=True)
    return entry_rows(memory, [hit.item for hit in hits], {hit.item.id: (hit.relevance, explain(hit)) for hit in hits})


def entry_card(memory: MemorySystem, query: JournalQuery, found: FoundEntries, entry_id: str) -> HitCard | None:
    """Return the card of an entry that a question found, or None if it is not in the journal."""
    entry, hit = memory.journal.get(entry_id), found.hits.get(entry_id)
    if entry is None:
        return None
    window = memory.journal.passage(entry_id, query.text) if hit else None
    nearest = [Source("Nearest passage", window, is_part=True)] if window else []
    return hit_card(
        hit,
        id=entry.id,
        title=entry.content,
        outcome=f"{entry.entry_type} · generation {entry.generation:,}",
        sources=[*nearest, Source("Entry", entry.content)],
        query=query.text,
        weights=memory.journal.weights,
        met=memory.journal.met_words(entry.id, query.text) if hit else (),
    )


def beginning(content: str) -> str:
    """Return the beginning of an entry's text, on one line."""
    return " ".join(content[:CONTENT_CHARACTERS].split())


def _pair_filter(pair: str) -> dict[str, Any]:
    """Return the filter for a pair of metadata. A text that is a number finds the number as well."""
    key, _, value = pair.partition("=")
    return {f"{METADATA}{key.strip()}": {"$in": _readings(value.strip())}}


def _readings(value: str) -> list[Any]:
    """Return the values that a typed text may stand for."""
    if value in ("true", "false"):
        return [value, value == "true"]
    if _NUMBER.fullmatch(value):
        return [value, float(value) if "." in value else int(value)]
    return [value]


def _pairs(memory: MemorySystem) -> dict[str, int]:
    """Return the pairs of metadata that several of the latest entries share, most frequent first."""
    pairs: Counter[str] = Counter()
    for row in memory.journal.browse(limit=LOOKED_AT):
        for name, value in row["metadata"].items():
            if name.startswith(METADATA) and isinstance(value, str | int | float):
                shown = str(value).lower() if isinstance(value, bool) else str(value)
                pairs[f"{name.removeprefix(METADATA)}={shown}"] += 1
    return {pair: n for pair, n in pairs.most_common(PAIRS_OFFERED) if n > 1}


def _search_caption(memory: MemorySystem, query: JournalQuery, n: int, n_hidden: int) -> str:
    among = counted(memory.journal.count(query.where()), "entry")
    if query.is_by_words:
        holds = "holds" if n == 1 else "hold"
        return f"{n:,} of {among} {holds} any of these words, best match first" if n else f"None of {among}"
    caption = found_caption(n, among, with_irrelevant=query.with_irrelevant)
    hidden = hidden_text(n_hidden, n_shown=n, most=SEARCH_ROWS)
    return f"{caption} · {hidden}" if hidden else caption
