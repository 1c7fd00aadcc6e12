"""Journal: an agent's entries over its generations, its conversations, and its upkeep."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas.views.kinds.journal import JOURNAL
from pages.components.journal.conversations import draw_conversations
from pages.components.journal.kind_page import PAGE
from pages.components.journal.upkeep import FORMER_TABS, draw_upkeep, open_linked
from pages.components.lists.heading import draw_heading
from pages.components.lists.kind_page import draw_records
from pages.components.shared.snapshot import page_memory
from pages.components.shared.tabs import choose_part

ENTRIES, CONVERSATIONS, UPKEEP = "Entries", "Conversations", "Links and archiving"

TAB = "journal_tab"


memory = page_memory()
draw_heading("Journal", JOURNAL.about, is_one_line=True)
open_linked(st.query_params.get_all(TAB))
part = choose_part([ENTRIES, CONVERSATIONS, UPKEEP], key=TAB, formerly=dict.fromkeys(["Upkeep", *FORMER_TABS], UPKEEP))
draw = {CONVERSATIONS: draw_conversations, UPKEEP: draw_upkeep}.get(part, partial(draw_records, PAGE))
draw(memory)
