"""Journal: what an agent noted, over its generations. Searched, linked, told, forgotten. And what was said to it."""

from __future__ import annotations

from functools import partial

from atlas import MemorySystem
from pages.components.journal.contexts import draw_contexts
from pages.components.journal.conversations import draw_conversations
from pages.components.journal.forgetting import draw_forgetting
from pages.components.journal.links import draw_suggestions
from pages.components.journal.list import draw_empty, draw_entries
from pages.components.journal.panel import entry_panel
from pages.components.journal.refused import draw_refused
from pages.components.lists.heading import draw_heading
from pages.components.lists.listing import draw_beside
from pages.components.shared.snapshot import page_memory
from pages.components.shared.tabs import choose_part

ENTRIES = "Entries"

TABS = {
    "Link suggestions": draw_suggestions,
    "Contexts": draw_contexts,
    "Forgetting": draw_forgetting,
    "Refused": draw_refused,
    "Conversations": draw_conversations,
}
"""Parts of the page beside the entries, by their names."""


def draw_list_and_panel(memory: MemorySystem) -> None:
    """Draw the entries, and beside them the one that is open."""
    if not memory.journal.count():
        draw_empty(memory)
        return
    draw_beside(partial(draw_entries, memory), partial(entry_panel, memory))


memory = page_memory()
draw_heading("Journal", "The log that agents keep: observations, crashes, fixes and reflections, linked to each other.")
TABS.get(choose_part([ENTRIES, *TABS], key="journal_tab"), draw_list_and_panel)(memory)
