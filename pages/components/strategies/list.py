"""The list of strategies: what is asked for, its rows, and what an empty bank offers."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.lists.listing import Query
from atlas.views.shared.kinds import STRATEGY
from atlas.views.shared.state import uses_seen
from atlas.views.strategies.list import STRATEGIES
from pages.components.lists.empty import draw_empty as draw_empty_store
from pages.components.lists.listing import Lister, draw_trash_link, find
from pages.components.lists.listing import draw_list as draw_rows
from pages.components.strategies.columns import BESIDE, FOUND, LISTED
from pages.components.strategies.writing import draw_by_hand, draw_from_attempts

NONE_YET = "There are no strategies yet."

LISTER = Lister(
    records=STRATEGIES,
    listed_columns=LISTED,
    found_columns=FOUND,
    beside_columns=BESIDE,
    state=partial(uses_seen, kind=STRATEGY),
)


def draw_list(memory: MemorySystem, query: Query, is_beside: bool) -> None:
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
