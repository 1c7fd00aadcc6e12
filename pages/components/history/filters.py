"""Search and filters of the history, with the offer to undo all operations that pass."""

from __future__ import annotations

from datetime import UTC, datetime, time

import streamlit as st

from atlas import MemorySystem, Operations
from atlas.views.history.operations import actors_of
from atlas.views.history.undoing import UndoManyRequest
from pages.components.lists.filters import URL
from pages.components.shared.plans import draw_proposing

EVERYBODY, EVERYTHING = "Everybody", "Everything"
KINDS = {
    "store": "Stored",
    "import": "Imported",
    "edit": "Edited",
    "mark": "Tagged, pinned or retired",
    "outcome": "Outcome set",
    "merge": "Merged",
    "prune": "Deleted by a rule",
    "delete": "Deleted",
    "restore": "Restored",
    "undo": "Undone or redone",
    "purge": "Purged",
}
"""Kinds of operations that can be asked for, in plain words."""


def draw_filters(memory: MemorySystem) -> Operations:
    """Draw the search and the filters of the history, and return their values."""
    actors = actors_of(memory)
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        text = st.text_input("Search", key="history_text", type="search", placeholder="Record or reason", bind=URL,
                             label_visibility="collapsed", width=190)  # fmt: skip
        who = st.selectbox("Who", [EVERYBODY, *actors], key="history_who", bind=URL, width=155)
        what = st.selectbox("What", [EVERYTHING, *KINDS.values()], key="history_what", bind=URL, width=200)
        since = st.date_input("Since (UTC)", None, format="YYYY-MM-DD", key="history_since", width=220)
    return Operations(
        actor="" if who in (None, EVERYBODY) else who,
        kind=next((kind for kind, word in KINDS.items() if word == what), ""),
        since=datetime.combine(since, time(), UTC) if since else None,
        text=(text or "").strip(),
    )


def draw_undo_all(memory: MemorySystem, wanted: Operations) -> None:
    """Draw the button that undoes all operations that pass the filters, if there are any filters."""
    if wanted != Operations():
        draw_proposing(memory, "Undo all of these …", UndoManyRequest(wanted=wanted), key="history_undo_all",
                       icon=":material/undo:", help_text="You first see what would be undone, and what cannot be.",
                       )  # fmt: skip
