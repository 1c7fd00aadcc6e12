"""The list of a journal's entries: what is asked for, its timeline, its rows, and what an empty journal offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.experiences import n_pages
from atlas.views.hits import HitCard
from atlas.views.journal import (
    NEWEST,
    ORDERS,
    EntryListing,
    FoundEntries,
    JournalOptions,
    JournalQuery,
    entry_card,
    found_page,
    journal_options,
    listed_page,
    search_entries,
)
from atlas.views.kinds import JOURNAL
from atlas.views.scope import BEST_MATCH, offered
from atlas.views.state import StoreState, store_state
from atlas.views.wording import import_command
from pages.components.cards import draw_cards, is_as_cards
from pages.components.hits import hit_card
from pages.components.journal_timeline import draw_timeline
from pages.components.listing import SEARCHING
from pages.components.scope import BY, URL, digest
from pages.components.tables import opened_id, selectable_table

LISTED = ("generation", "entry_type", "content", "importance", "tier", "n_links", "marks", "created_at")
FOUND = ("generation", "entry_type", "relevance", "content", "why", "tier", "marks")
BESIDE = ("generation", "entry_type", "relevance", "content", "marks")

ROWS = "rows on Journal"
"""What the tray calls a selection that was made here."""

GENERATIONS = 10**9
"""Bounds of what can be typed as a generation, either way."""


def draw_entries(memory: MemorySystem, *, is_beside: bool = False) -> None:
    """The timeline, the boxes below it, and the entries that are asked for.

    Args:
        is_beside: Whether an entry is open beside them, so that there is less room.
    """
    above = st.container()
    query = ask(memory)
    with above:
        draw_timeline(memory, query)
    draw_list(memory, query, BESIDE if is_beside else None)


def ask(memory: MemorySystem) -> JournalQuery:
    """The boxes between timeline and list. Another question begins the list at its first page."""
    options = _options(store_state(memory), _memory=memory)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Search", key="journal_text", type="search", placeholder="What happened?", bind=URL,
                             width=220)  # fmt: skip
        by = st.segmented_control("Search by", BY, default=BEST_MATCH, required=True, key="journal_by", bind=URL)
        types = _choice("Type", options.types, key="journal_types")
        since, until = _generations()
        tiers = _choice("Tier", options.tiers, key="journal_tiers")
        tags = _choice("Tag", options.tags, key="journal_tags")
        metadata = _metadata(options)
        is_search = bool(text and text.strip())
        order = st.selectbox("Sort", list(ORDERS), key="journal_order", disabled=is_search, width=190, bind=URL)
        with_irrelevant = is_search and by == BEST_MATCH and st.toggle(
            "Less relevant too", key="journal_irrelevant", help="Also list what has little or nothing to do with it",
            bind=URL,
        )  # fmt: skip
    query = JournalQuery(
        text=text or "",
        by=by or BEST_MATCH,
        types=types,
        tiers=tiers,
        tags=tags,
        metadata=metadata,
        since=since,
        until=until,
        order=order or NEWEST,
        with_irrelevant=bool(with_irrelevant),
    )
    if st.session_state.setdefault("journal_asked", query) != query:
        st.session_state.update(journal_asked=query, journal_page=1)
    return query


def draw_list(memory: MemorySystem, query: JournalQuery, columns: tuple[str, ...] | None = None) -> None:
    """The entries that are asked for, a page at a time."""
    state, found = store_state(memory), _found(memory, query)
    if (opened := opened_id()) and found is not None:
        _draw_why(memory, query, found, opened, state)
    above = st.container()
    listing = _read(memory, query, found, int(st.session_state.get("journal_page") or 1), state)
    if n_pages(listing.n) > 1:
        page = st.pagination(n_pages(listing.n), key="journal_page", bind=URL)
        listing = _read(memory, query, found, page, state)
    above.caption(f"{listing.caption}. Click one to open it." if listing.rows else listing.caption)
    if not listing.rows:
        return
    with above:
        if is_as_cards(found, JOURNAL) and found is not None:
            cards = [_card(state, digest(query), row.id, _memory=memory, _query=query, _found=found)
                     for row in listing.rows]  # fmt: skip
            shown = [card for card in cards if card is not None]
            draw_cards(shown, revision=state.revision, kind=JOURNAL, origin=ROWS)
            return
        columns = columns or (FOUND if query.is_search else LISTED)
        key = f"journal_table_{digest(query, [row.id for row in listing.rows], state)}"
        selectable_table(listing.rows, columns=columns, key=key, origin=ROWS, revision=state.revision, kind=JOURNAL)


def draw_empty(memory: MemorySystem) -> None:
    """A journal without entries: how to fill it."""
    st.info("Nothing was noted yet.", icon=":material/inbox:")
    st.text("Import Protea's memory from a terminal; PATH is its SQLite file, which is only read, even while it runs.")
    st.code(import_command(memory), language=None, wrap_lines=True)
    st.text("From Python: memory.journal.add(entry_type, content, generation=…). Reload this page afterwards.")
    if memory.journal.count_trash():
        st.page_link("pages/history.py", label="Entries were deleted; the trash has them", icon=":material/delete:",
                     query_params={"history_tab": "Trash", "history_kind": "Entries"})  # fmt: skip


def known_types(memory: MemorySystem) -> list[str]:
    """The types that the journal was told of."""
    return [known.name for known in memory.journal.types]


def _draw_why(memory: MemorySystem, query: JournalQuery, found: FoundEntries, opened: str, state: StoreState) -> None:
    """Why what is open was found."""
    if opened not in {entry.id for entry in found.entries}:
        st.caption("What is open is not among what this search lists.")
        return
    card = _card(state, digest(query), opened, _memory=memory, _query=query, _found=found)
    if card is not None:
        st.caption("Why what is open was found")
        hit_card(card, key=f"journal_why_{opened}")


def _generations() -> tuple[int | None, int | None]:
    """The first and the last generation, which a brush across the timeline sets too."""
    return _generation("From generation", "journal_since"), _generation("To generation", "journal_until")


def _generation(label: str, key: str) -> int | None:
    return st.number_input(label, -GENERATIONS, GENERATIONS, None, key=key, placeholder="any", width=120, bind=URL)


def _metadata(options: JournalOptions) -> tuple[str, ...]:
    """What the entries' metadata must say; what is no `key=value` is left out, and said so."""
    chosen = offered(options.metadata, [*st.session_state.get("journal_meta", []),
                                        *st.query_params.get_all("journal_meta")])  # fmt: skip
    pairs = st.multiselect("Metadata", chosen, key="journal_meta", placeholder="key=value", accept_new_options=True,
                           bind=URL, width=180, help="Choose one, or type another: its key, =, and its value",
                           )  # fmt: skip
    return tuple(pair for pair in pairs if pair.partition("=")[0].strip() and "=" in pair)


def _choice(label: str, held: Mapping[Any, int], *, key: str) -> tuple[Any, ...]:
    """A choice of several values; none means all. A box for what no entry says is left out."""
    asked = [value for value in held if str(value) in st.query_params.get_all(key)]
    options = offered(held, [*st.session_state.get(key, []), *asked])
    if not options:
        return ()
    return tuple(st.multiselect(label, options, key=key, placeholder="All", bind=URL, width=160))


def _found(memory: MemorySystem, query: JournalQuery) -> FoundEntries | None:
    if not query.is_search:
        return None
    with st.spinner(SEARCHING if query.by == BEST_MATCH else "Searching …"):
        return _searched(store_state(memory), digest(query), _memory=memory, _query=query)


def _read(
    memory: MemorySystem, query: JournalQuery, found: FoundEntries | None, page: int, state: StoreState
) -> EntryListing:
    if found is not None:
        return found_page(memory, query, found, page)
    return _listed(state, digest(query), page, _memory=memory, _query=query)


@st.cache_data(max_entries=8, show_spinner=False)
def _options(state: StoreState, *, _memory: MemorySystem) -> JournalOptions:
    return journal_options(_memory)


@st.cache_data(max_entries=16, show_spinner=False)
def _searched(state: StoreState, asked: str, *, _memory: MemorySystem, _query: JournalQuery) -> FoundEntries:
    return search_entries(_memory, _query)


@st.cache_data(max_entries=512, show_spinner=False)
def _card(
    state: StoreState, asked: str, entry_id: str, *, _memory: MemorySystem, _query: JournalQuery, _found: FoundEntries
) -> HitCard | None:
    return entry_card(_memory, _query, _found, entry_id)


@st.cache_data(max_entries=64, show_spinner=False)
def _listed(state: StoreState, asked: str, page: int, *, _memory: MemorySystem, _query: JournalQuery) -> EntryListing:
    return listed_page(_memory, _query, page)
