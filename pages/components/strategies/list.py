"""The list of strategies: what is asked for, its rows, and what an empty bank offers."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared.kinds import STRATEGY
from atlas.views.shared.state import StoreState, uses_seen
from atlas.views.strategies.list import (
    ALL,
    ORDERS,
    STATES,
    SUREST,
    StrategyOptions,
    StrategyQuery,
    found_strategies,
    listed_strategies,
    search_strategies,
    strategy_options,
)
from pages.components.lists.empty import draw_empty as draw_empty_store
from pages.components.lists.filters import URL, draw_choice, draw_irrelevant, draw_search, turn_to_first_page
from pages.components.lists.listing import Lister, draw_trash_link, find
from pages.components.lists.listing import draw_list as draw_rows
from pages.components.shared.snapshot import store_state
from pages.components.strategies.columns import BESIDE, FOUND, LISTED
from pages.components.strategies.writing import draw_by_hand, draw_from_attempts

BOX_PIXELS = 130

NONE_YET = "There are no strategies yet."

LISTER = Lister(
    kind=STRATEGY,
    search=search_strategies,
    found=found_strategies,
    listed=listed_strategies,
    listed_columns=LISTED,
    found_columns=FOUND,
    beside_columns=BESIDE,
    state=partial(uses_seen, kind=STRATEGY),
)


def ask(memory: MemorySystem) -> StrategyQuery:
    """Draw the boxes above the list and return the question. Another question begins at the first page."""
    options = _options(store_state(memory), _memory=memory)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = draw_search("strategies", "What is the task?", width=190)
        state = st.selectbox("Show", STATES, key="strategies_state", width=BOX_PIXELS, bind=URL)
        written_by = draw_choice("Written by", options.written_by, key="strategies_written_by", width=BOX_PIXELS)
        domains = draw_choice("Domain", options.domains, key="strategies_domain", width=BOX_PIXELS)
        tags = draw_choice("Tag", options.tags, key="strategies_tag", width=BOX_PIXELS)
        is_search = bool(text.strip())
        order = st.selectbox("Sort", ORDERS, key="strategies_order", disabled=is_search, width=160, bind=URL,
                             help="Most reliable first sorts by the lower end of the 95 % interval. "
                                  "Strategies that were not tried come last")  # fmt: skip
        with_irrelevant = is_search and draw_irrelevant("strategies")
    query = StrategyQuery(
        text=text,
        written_by=written_by,
        domains=domains,
        tags=tags,
        state=state or ALL,
        order=order or SUREST,
        with_irrelevant=with_irrelevant,
    )
    turn_to_first_page(query, "strategies")
    return query


def draw_list(memory: MemorySystem, query: StrategyQuery, is_beside: bool) -> None:
    """Draw the strategies that are asked for, a page at a time.

    Args:
        is_beside: Whether a strategy is open beside them, so that there is less room.
    """
    draw_rows(LISTER, memory, find(LISTER, memory, query), is_beside=is_beside)
    if not is_beside:
        draw_writing(memory)


def draw_empty(memory: MemorySystem) -> None:
    """Draw how to fill a bank without strategies."""
    if memory.experience.count({"outcome": "succeeded"}):
        st.info(NONE_YET, icon=":material/inbox:")
        st.text("This store has successful attempts. Strategies can be written from them.")
    else:
        draw_empty_store(
            memory, "Strategies are written from successful attempts, which you can import.", title=NONE_YET
        )
    draw_writing(memory)
    draw_trash_link(memory, STRATEGY)


def draw_writing(memory: MemorySystem) -> None:
    """Draw the two ways to more strategies."""
    with st.container(horizontal=True):
        draw_from_attempts(memory)
        draw_by_hand(memory)


@st.cache_data(max_entries=8, show_spinner=False)
def _options(state: StoreState, *, _memory: MemorySystem) -> StrategyOptions:
    return strategy_options(_memory)
