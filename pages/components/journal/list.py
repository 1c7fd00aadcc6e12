"""The list of a journal's entries: what is asked for, its timeline, its rows, and what an empty journal offers."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.list import ENTRIES, entry_card
from atlas.views.shared.kinds import JOURNAL
from pages.components.journal.columns import BESIDE, FOUND, LISTED
from pages.components.journal.editing import draw_write
from pages.components.journal.timeline import draw_timeline
from pages.components.lists.empty import draw_empty as draw_empty_store
from pages.components.lists.hits import hit_card
from pages.components.lists.listing import Answer, Lister, ask, cards_of, draw_list, draw_trash_link, find
from pages.components.lists.record_table import opened_id

LISTER = Lister(
    records=ENTRIES,
    listed_columns=LISTED,
    found_columns=FOUND,
    beside_columns=BESIDE,
    card=entry_card,
)


def draw_entries(memory: MemorySystem, is_beside: bool) -> None:
    """Draw the timeline, the boxes below it, and the entries that are asked for.

    Args:
        is_beside: Whether an entry is open beside them, so that there is less room.
    """
    above = st.container()
    query = ask(memory, JOURNAL)
    with above:
        draw_timeline(memory, query)
    answer = find(LISTER, memory, query)
    _draw_why(memory, answer)
    draw_list(LISTER, memory, answer, is_beside=is_beside)
    if not is_beside:
        draw_write(memory)


def draw_empty(memory: MemorySystem) -> None:
    """Draw how to fill a journal without entries."""
    draw_empty_store(memory, "Notes that agents write about their work are listed here.", title="The journal is empty.")
    st.caption("An agent writes an entry with memory.journal.add(entry_type, content, generation=…).")
    draw_trash_link(memory, JOURNAL)
    draw_write(memory)


def _draw_why(memory: MemorySystem, answer: Answer) -> None:
    """Draw why the open entry was found, if there is a question."""
    opened, result = opened_id(), answer.result
    if not opened or result is None:
        return
    if opened not in result.ids:
        st.caption("The open entry is not among the results of this search.")
        return
    for card in cards_of(LISTER, memory, answer, [opened]):
        st.caption("Why the open entry was found")
        hit_card(card, key=f"journal_why_{opened}")
