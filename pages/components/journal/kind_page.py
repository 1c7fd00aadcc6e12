"""The entries of the journal: the common parts of all kinds, a timeline, and a form for a new entry."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.kind import ENTRIES
from atlas.views.kinds.kind import Kind
from atlas.views.lists.queries import Query
from pages.components.journal.panel import PANEL
from pages.components.journal.timeline import draw_timeline
from pages.components.journal.writing import draw_write
from pages.components.lists.kind_page import KindPage, draw_nothing_yet
from pages.components.lists.record_table import opened_id


def _draw_empty(memory: MemorySystem, kind: Kind) -> None:
    """Draw how to fill a journal without entries."""
    draw_nothing_yet(memory, kind)
    st.caption("An agent writes an entry with memory.journal.add(entry_type, content, generation=…).")


def _draw_timeline(memory: MemorySystem, query: Query) -> None:
    """Draw the timeline, unless an entry is open, which needs the room."""
    if opened_id() is None:
        draw_timeline(memory, query)


PAGE = KindPage(views=ENTRIES, panel=PANEL, draw_empty=_draw_empty, draw_above=_draw_timeline, draw_below=draw_write)
