"""Strategies: which ones work, on how many tries, how sure that is, and exactly which attempts say so."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from pages.components.memory import page_memory
from pages.components.strategies import BESIDE, ask, draw_empty, draw_list, draw_writing
from pages.components.strategy import go_on, strategy_panel
from pages.components.strategy_writing import draw_writing_dialogs
from pages.components.tables import opened_id


def draw(memory: MemorySystem) -> None:
    """The list, and beside it the strategy that is open."""
    opened, query = opened_id(), ask(memory)
    if opened is None:
        draw_list(memory, query)
        draw_writing(memory)
        return
    beside, panel = st.columns([1, 1], gap="medium")
    with beside:
        draw_list(memory, query, BESIDE)
    with panel:
        strategy_panel(memory, opened)


memory = page_memory()
go_on()
st.title("Strategies", anchor=False)
if memory.strategies.count():
    draw(memory)
else:
    draw_empty(memory)
draw_writing_dialogs(memory)
