"""The list of a journal's entries: what is asked for, its timeline, its rows, and what an empty journal offers."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.list import (
    ORDERS,
    FoundEntries,
    JournalOptions,
    JournalQuery,
    entry_card,
    found_page,
    journal_options,
    listed_page,
    search_entries,
)
from atlas.views.lists.listing import NEWEST
from atlas.views.shared.kinds import JOURNAL
from atlas.views.shared.scope import BEST_MATCH, BY, offered
from atlas.views.shared.state import StoreState
from pages.components.journal.columns import BESIDE, FOUND, LISTED
from pages.components.journal.editing import draw_write
from pages.components.journal.timeline import draw_timeline
from pages.components.lists.empty import draw_empty as draw_empty_store
from pages.components.lists.filters import URL, draw_choice, draw_irrelevant, draw_search, turn_to_first_page
from pages.components.lists.hits import hit_card
from pages.components.lists.listing import Answer, Lister, cards_of, draw_list, draw_trash_link, find
from pages.components.lists.record_table import opened_id
from pages.components.shared.snapshot import store_state

LISTER = Lister(
    kind=JOURNAL,
    search=search_entries,
    found=found_page,
    listed=listed_page,
    listed_columns=LISTED,
    found_columns=FOUND,
    beside_columns=BESIDE,
    card=entry_card,
)

GENERATIONS = 10**9
"""Bounds of what can be typed as a generation, either way."""


def draw_entries(memory: MemorySystem, is_beside: bool) -> None:
    """Draw the timeline, the boxes below it, and the entries that are asked for.

    Args:
        is_beside: Whether an entry is open beside them, so that there is less room.
    """
    above = st.container()
    query = ask(memory)
    with above:
        draw_timeline(memory, query)
    answer = find(LISTER, memory, query)
    _draw_why(memory, answer)
    draw_list(LISTER, memory, answer, is_beside=is_beside)
    if not is_beside:
        draw_write(memory)


def ask(memory: MemorySystem) -> JournalQuery:
    """Draw the boxes below the timeline and return the question. Another question begins at the first page."""
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


def draw_empty(memory: MemorySystem) -> None:
    """Draw how to fill a journal without entries."""
    draw_empty_store(memory, "Notes that agents write about their work are listed here.", title="The journal is empty.")
    st.caption("An agent writes an entry with memory.journal.add(entry_type, content, generation=…).")
    draw_trash_link(memory, JOURNAL)
    draw_write(memory)


def _draw_why(memory: MemorySystem, answer: Answer[JournalQuery, FoundEntries]) -> None:
    """Draw why the open entry was found, if there is a question."""
    opened, found = opened_id(), answer.found
    if not opened or found is None:
        return
    if opened not in {entry.id for entry in found.entries}:
        st.caption("The open entry is not among the results of this search.")
        return
    for card in cards_of(LISTER, memory, answer, [opened]):
        st.caption("Why the open entry was found")
        hit_card(card, key=f"journal_why_{opened}")


def _generations() -> tuple[int | None, int | None]:
    """Return the first and the last generation, which a brush across the timeline sets too."""
    return _generation("From generation", "journal_since"), _generation("To generation", "journal_until")


def _generation(label: str, key: str) -> int | None:
    return st.number_input(label, -GENERATIONS, GENERATIONS, None, key=key, placeholder="any", width=120, bind=URL)


def _metadata(options: JournalOptions) -> tuple[str, ...]:
    """Return the pairs that the entries' metadata must hold, without those that are no `key=value`."""
    chosen = offered(options.metadata, [*st.session_state.get("journal_meta", []),
                                        *st.query_params.get_all("journal_meta")])  # fmt: skip
    pairs = st.multiselect("Metadata", chosen, key="journal_meta", placeholder="key=value", accept_new_options=True,
                           bind=URL, width=180, help="Choose one, or type key=value",
                           )  # fmt: skip
    return tuple(pair for pair in pairs if pair.partition("=")[0].strip() and "=" in pair)


@st.cache_data(max_entries=8, show_spinner=False)
def _options(state: StoreState, *, _memory: MemorySystem) -> JournalOptions:
    return journal_options(_memory)
