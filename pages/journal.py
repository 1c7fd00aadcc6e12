"""Journal: an agent's entries over its generations, with search, links and forgetting, and its conversations."""

from __future__ import annotations

from functools import partial

from atlas.views.kinds.journal import JOURNAL
from pages.components.journal.contexts import draw_contexts
from pages.components.journal.conversations import draw_conversations
from pages.components.journal.forgetting import draw_forgetting
from pages.components.journal.links import draw_suggestions
from pages.components.journal.refused import draw_refused
from pages.components.journal.room import ROOM
from pages.components.lists.heading import draw_heading
from pages.components.lists.room import draw_records
from pages.components.shared.snapshot import page_memory
from pages.components.shared.tabs import choose_part

ENTRIES = "Entries"

TABS = {
    "Link suggestions": draw_suggestions,
    "What agents read": draw_contexts,
    "Archiving": draw_forgetting,
    "Refused entries": draw_refused,
    "Conversations": draw_conversations,
}
"""Parts of the page beside the entries, by their names."""

FORMERLY = {
    "Contexts": "What agents read",
    "Forgetting": "Archiving",
    "Shorten": "Archiving",
    "Refused": "Refused entries",
}
"""Names of parts, by those that older links have."""


memory = page_memory()
with draw_heading("Journal", JOURNAL.about):
    part = choose_part([ENTRIES, *TABS], key="journal_tab", formerly=FORMERLY)
TABS.get(part, partial(draw_records, ROOM))(memory)
