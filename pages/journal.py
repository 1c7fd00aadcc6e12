"""Journal: what an agent noted, over its generations; searched, linked, told, forgotten; and what was said to it."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from pages.components.journal import draw_empty, draw_entries, known_types
from pages.components.journal_contexts import draw_contexts
from pages.components.journal_conversations import draw_conversations
from pages.components.journal_editing import draw_write
from pages.components.journal_entry import entry_panel
from pages.components.journal_forgetting import draw_forgetting
from pages.components.journal_linking import draw_suggestions
from pages.components.journal_refused import draw_refused
from pages.components.memory import page_memory
from pages.components.scope import URL
from pages.components.tables import opened_id

ENTRIES = "Entries"

TABS = {
    "Link suggestions": draw_suggestions,
    "Contexts": draw_contexts,
    "Forgetting": draw_forgetting,
    "Refused": draw_refused,
    "Conversations": draw_conversations,
}
"""What there is beside the entries, by its name."""


def draw_list_and_panel(memory: MemorySystem) -> None:
    """The entries, and beside them the one that is open."""
    if not memory.journal.count():
        draw_empty(memory)
        draw_write(memory, known_types(memory))
        return
    opened = opened_id()
    if opened is None:
        draw_entries(memory)
        draw_write(memory, known_types(memory))
        return
    beside, panel = st.columns([1, 1], gap="medium")
    with beside:
        draw_entries(memory, is_beside=True)
    with panel:
        entry_panel(memory, opened)


memory = page_memory()
st.title("Journal", anchor=False)
shown = st.segmented_control("Show", [ENTRIES, *TABS], default=ENTRIES, required=True, key="journal_tab", bind=URL,
                             label_visibility="collapsed")  # fmt: skip
TABS.get(shown or ENTRIES, draw_list_and_panel)(memory)
