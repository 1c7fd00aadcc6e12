"""The page of strategies: the common page of a kind, with two ways to write strategies."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.strategies.kind import STRATEGIES
from pages.components.lists.kind_page import KindPage, draw_nothing_yet
from pages.components.strategies.panel import PANEL, draw_how_counted
from pages.components.strategies.writing import draw_by_hand, draw_from_attempts


def _draw_empty(memory: MemorySystem, kind: Kind) -> None:
    """Draw how to fill a bank without strategies."""
    if memory.experience.count({"outcome": "succeeded"}):
        st.info(kind.nothing, icon=":material/inbox:")
        st.text("This store has successful attempts. Strategies can be written from them.")
    else:
        draw_nothing_yet(memory, kind)


def _draw_writing(memory: MemorySystem) -> None:
    """Draw the two ways to write strategies."""
    with st.container(horizontal=True):
        draw_from_attempts(memory)
        draw_by_hand(memory)
        if memory.strategies.count():
            draw_how_counted(key="strategies_how")


PAGE = KindPage(
    views=STRATEGIES,
    panel=PANEL,
    draw_empty=_draw_empty,
    draw_below=_draw_writing,
)
