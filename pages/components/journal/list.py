"""The list of a journal's entries: what is asked for, its timeline, its rows, and what an empty journal offers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.list import (
    NEWEST,
    ORDERS,
    EntryRow,
    FoundEntries,
    JournalOptions,
    JournalQuery,
    entry_card,
    found_page,
    journal_options,
    listed_page,
    search_entries,
)
from atlas.views.shared.kinds import JOURNAL
from atlas.views.shared.scope import BEST_MATCH, BY, offered
from atlas.views.shared.state import StoreState
from pages.components.journal.editing import draw_write
from pages.components.journal.timeline import draw_timeline
from pages.components.lists.filters import draw_choice, draw_irrelevant, draw_search, turn_to_first_page
from pages.components.lists.hits import hit_card
from pages.components.lists.listing import Lister, cards_of, draw_pages, draw_table, draw_trash_link, find
from pages.components.lists.record_table import opened_id
from pages.components.shared.cards import draw_cards, is_as_cards
from pages.components.shared.commands import import_command
from pages.components.shared.scope import URL
from pages.components.shared.snapshot import store_state

LISTED = ("generation", "entry_type", "content", "importance", "tier", "n_links", "marks", "created_at")
FOUND = ("generation", "entry_type", "relevance", "content", "why", "tier", "marks")
BESIDE = ("generation", "entry_type", "relevance", "content", "marks")

LISTER = Lister(kind=JOURNAL, search=search_entries, found=found_page, listed=listed_page, card=entry_card)

GENERATIONS = 10**9
"""Bounds of what can be typed as a generation, either way."""


def draw_entries(memory: MemorySystem, is_beside: bool) -> None:
    """The timeline, the boxes below it, and the entries that are asked for.

    Args:
        is_beside: Whether an entry is open beside them, so that there is less room.
    """
    above = st.container()
    query = ask(memory)
    with above:
        draw_timeline(memory, query)
    draw_list(memory, query, is_beside)
    if not is_beside:
        draw_write(memory)


def ask(memory: MemorySystem) -> JournalQuery:
    """The boxes between timeline and list. Another question begins the list at its first page."""
    options = _options(store_state(memory), _memory=memory)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = draw_search("journal", "What happened?", width=220)
        by = st.segmented_control("Search by", BY, default=BEST_MATCH, required=True, key="journal_by", bind=URL)
        types = draw_choice("Type", options.types, key="journal_types")
        since, until = _generations()
        tiers = draw_choice("Tier", options.tiers, key="journal_tiers")
        tags = draw_choice("Tag", options.tags, key="journal_tags")
        metadata = _metadata(options)
        is_search = bool(text.strip())
        order = st.selectbox("Sort", list(ORDERS), key="journal_order", disabled=is_search, width=190, bind=URL)
        with_irrelevant = is_search and by == BEST_MATCH and draw_irrelevant("journal")
    query = JournalQuery(
        text=text,
        by=by or BEST_MATCH,
        types=types,
        tiers=tiers,
        tags=tags,
        metadata=metadata,
        since=since,
        until=until,
        order=order or NEWEST,
        with_irrelevant=with_irrelevant,
    )
    turn_to_first_page(query, "journal")
    return query


def draw_list(memory: MemorySystem, query: JournalQuery, is_beside: bool) -> None:
    """The entries that are asked for, a page at a time."""
    state = store_state(memory)
    found = find(LISTER, memory, query, state)
    if (opened := opened_id()) and found is not None:
        _draw_why(memory, query, found, opened, state)
    columns = BESIDE if is_beside else FOUND if query.is_search else LISTED

    def draw_rows(rows: Sequence[EntryRow]) -> None:
        if found is None or not is_as_cards(found, JOURNAL):
            draw_table(JOURNAL, rows, columns, query, state)
            return
        cards = cards_of(LISTER, memory, query, found, [row.id for row in rows], state)
        draw_cards(cards, revision=state.revision, kind=JOURNAL)

    draw_pages(LISTER, memory, query, found, state, draw_rows)


def draw_empty(memory: MemorySystem) -> None:
    """A journal without entries: how to fill it."""
    st.info("Nothing was noted yet.", icon=":material/inbox:")
    st.text("Import Protea's memory from a terminal; PATH is its SQLite file, which is only read, even while it runs.")
    st.code(import_command(memory), language=None, wrap_lines=True)
    st.text("From Python: memory.journal.add(entry_type, content, generation=…). Reload this page afterwards.")
    draw_trash_link(memory, JOURNAL)
    draw_write(memory)


def _draw_why(memory: MemorySystem, query: JournalQuery, found: FoundEntries, opened: str, state: StoreState) -> None:
    """Why what is open was found."""
    if opened not in {entry.id for entry in found.entries}:
        st.caption("What is open is not among what this search lists.")
        return
    for card in cards_of(LISTER, memory, query, found, [opened], state):
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


@st.cache_data(max_entries=8, show_spinner=False)
def _options(state: StoreState, *, _memory: MemorySystem) -> JournalOptions:
    return journal_options(_memory)
