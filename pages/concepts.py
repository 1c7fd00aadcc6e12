"""Concepts: the library of reusable code, searched and filtered; open one, edit it, merge several."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from pages.components.concept import concept_panel
from pages.components.concepts import BESIDE, ask, draw_empty, draw_list, draw_loaders
from pages.components.memory import page_memory
from pages.components.tables import opened_id


def draw(memory: MemorySystem) -> None:
    """The list, and beside it the concept that is open."""
    opened, query = opened_id(), ask(memory)
    if opened is None:
        draw_list(memory, query)
        draw_loaders(memory)
        return
    beside, panel = st.columns([1, 1], gap="medium")
    with beside:
        draw_list(memory, query, BESIDE)
    with panel:
        concept_panel(memory, opened)


memory = page_memory()
st.title("Concepts", anchor=False)
if memory.concepts.count():
    draw(memory)
else:
    draw_empty(memory)
