"""The list of strategies: what is asked for, its rows, and what an empty bank offers."""

from __future__ import annotations

import streamlit as st

from atlas import Hit, MemorySystem, Strategy
from atlas.views.experiences import n_pages
from atlas.views.kinds import STRATEGY
from atlas.views.state import StoreState, store_state
from atlas.views.strategies import (
    ALL,
    ORDERS,
    STATES,
    SUREST,
    StrategyListing,
    StrategyOptions,
    StrategyQuery,
    found_strategies,
    listed_strategies,
    search_strategies,
    strategy_options,
    tries_seen,
)
from pages.components.filters import draw_choice, turn_to_first_page
from pages.components.listing import SEARCHING
from pages.components.scope import URL, digest
from pages.components.strategy_writing import draw_by_hand, draw_from_attempts
from pages.components.tables import selectable_table

LISTED = ("title", "tries", "bar", "trend", "without", "suggestion", "n_sources", "retired", "written_by", "marks",
          "created_at")  # fmt: skip
FOUND = (
    "title",
    "relevance",
    "tries",
    "bar",
    "trend",
    "without",
    "suggestion",
    "why",
    "retired",
    "written_by",
    "marks",
)
BESIDE = ("bar", "title", "relevance", "tries", "retired", "marks")

BOX_PIXELS = 130

ROWS = "rows on Strategies"
"""What the tray calls a selection that was made here."""


def ask(memory: MemorySystem) -> StrategyQuery:
    """The boxes above the list. Another question begins it at the first page."""
    options = _options(store_state(memory), _memory=memory)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Search", key="strategies_text", type="search", placeholder="What is the task?", bind=URL,
                             width=190)  # fmt: skip
        state = st.selectbox("Show", STATES, key="strategies_state", width=BOX_PIXELS, bind=URL)
        written_by = draw_choice("Written by", options.written_by, key="strategies_written_by", width=BOX_PIXELS)
        domains = draw_choice("Domain", options.domains, key="strategies_domain", width=BOX_PIXELS)
        tags = draw_choice("Tag", options.tags, key="strategies_tag", width=BOX_PIXELS)
        is_search = bool(text and text.strip())
        order = st.selectbox("Sort", ORDERS, key="strategies_order", disabled=is_search, width=160, bind=URL,
                             help="The surest has the highest lower end of its interval")  # fmt: skip
        with_irrelevant = is_search and st.toggle(
            "Less relevant too", key="strategies_irrelevant", help="Also list what has little or nothing to do with it",
            bind=URL,
        )  # fmt: skip
    query = StrategyQuery(
        text=text or "",
        written_by=written_by,
        domains=domains,
        tags=tags,
        state=state or ALL,
        order=order or SUREST,
        with_irrelevant=bool(with_irrelevant),
    )
    turn_to_first_page(query, "strategies")
    return query


def draw_list(memory: MemorySystem, query: StrategyQuery, columns: tuple[str, ...] | None = None) -> None:
    """The strategies that are asked for, a page at a time."""
    state, tries = store_state(memory), tries_seen(memory)
    above = st.container()
    listing = _read(memory, query, int(st.session_state.get("strategies_page") or 1), state, tries)
    if n_pages(listing.n) > 1:
        page = st.pagination(n_pages(listing.n), key="strategies_page", bind=URL)
        listing = _read(memory, query, page, state, tries)
    above.caption(f"{listing.caption}. Click one to open it." if listing.rows else listing.caption)
    if not listing.rows:
        return
    with above:
        columns = columns or (FOUND if query.is_search else LISTED)
        key = f"strategies_table_{digest(query, [row.id for row in listing.rows], state, tries)}"
        selectable_table(listing.rows, columns=columns, key=key, origin=ROWS, revision=state.revision, kind=STRATEGY)


def draw_empty(memory: MemorySystem) -> None:
    """A bank without strategies: how to fill it."""
    st.info("There is no strategy yet.", icon=":material/inbox:")
    if memory.experience.count({"outcome": "succeeded"}):
        st.text("Strategies are written from successful attempts, and this store has some.")
    else:
        st.text("Strategies are written from successful attempts: import some, or let an agent store its own.")
    draw_writing(memory)
    if memory.strategies.count_trash():
        st.page_link("pages/history.py", label="Strategies were deleted; the trash has them", icon=":material/delete:",
                     query_params={"history_tab": "Trash", "history_kind": "Strategies"})  # fmt: skip


def draw_writing(memory: MemorySystem) -> None:
    """The two ways to more strategies."""
    with st.container(horizontal=True):
        draw_from_attempts(memory)
        draw_by_hand(memory)


def _read(memory: MemorySystem, query: StrategyQuery, page: int, state: StoreState, tries: int) -> StrategyListing:
    if not query.is_search:
        return _listed(state, tries, digest(query), page, _memory=memory, _query=query)
    with st.spinner(SEARCHING):
        found = _searched(state, tries, digest(query), _memory=memory, _query=query)
    return found_strategies(memory, query, found, page)


@st.cache_data(max_entries=8, show_spinner=False)
def _options(state: StoreState, *, _memory: MemorySystem) -> StrategyOptions:
    return strategy_options(_memory)


@st.cache_data(max_entries=16, show_spinner=False)
def _searched(
    state: StoreState, tries: int, asked: str, *, _memory: MemorySystem, _query: StrategyQuery
) -> tuple[Hit[Strategy], ...]:
    return search_strategies(_memory, _query)


@st.cache_data(max_entries=64, show_spinner=False)
def _listed(
    state: StoreState, tries: int, asked: str, page: int, *, _memory: MemorySystem, _query: StrategyQuery
) -> StrategyListing:
    return listed_strategies(_memory, _query, page)
