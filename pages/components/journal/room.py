"""The entries of the journal: the common parts of all kinds, a timeline, and a form for a new entry."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.kind import ENTRIES
from atlas.views.kinds.kind import BY_TIME, NEWEST, Kind
from atlas.views.lists.queries import Query
from pages.components.journal.panel import PANEL
from pages.components.journal.timeline import draw_timeline
from pages.components.journal.writing import draw_write
from pages.components.lists.listing import ask
from pages.components.lists.room import Room, draw_nothing_yet


def _draw_empty(memory: MemorySystem, kind: Kind) -> None:
    """Draw how to fill a journal without entries."""
    draw_nothing_yet(memory, kind)
    st.caption("An agent writes an entry with memory.journal.add(entry_type, content, generation=…).")


def _ask(memory: MemorySystem, kind: Kind) -> Query:
    """Return the query. In the order of time, entries that follow from a crash stand below it."""
    query = ask(memory, kind)
    return replace(query, distinct=not query.is_search and (query.order or NEWEST) in BY_TIME)


ROOM = Room(
    views=ENTRIES, panel=PANEL, draw_empty=_draw_empty, ask=_ask, draw_above=draw_timeline, draw_below=draw_write
)
