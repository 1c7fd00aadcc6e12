"""Filters of the history by actor and time, with the offer to undo all operations that pass."""

from __future__ import annotations

from datetime import UTC

import streamlit as st

from atlas import MemorySystem, Operations
from atlas.views.history.operations import actors_of
from atlas.views.history.undoing import UndoManyRequest
from pages.components.lists.filters import URL
from pages.components.shared.plans import draw_proposing

EVERYBODY = "Everybody"


def draw_filters(memory: MemorySystem) -> Operations:
    """Draw the filters of the history, and return their values."""
    actors = actors_of(memory)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        who = st.selectbox("Who", [EVERYBODY, *actors], key="history_who", bind=URL, width=260)
        since = st.datetime_input("Since (UTC)", None, key="history_since", width=260)
        wanted = Operations(
            actor="" if who in (None, EVERYBODY) else who, since=since.replace(tzinfo=UTC) if since else None
        )
        if wanted.actor or wanted.since:
            draw_proposing(memory, "Undo all of these …", UndoManyRequest(wanted=wanted), key="history_undo_all",
                           icon=":material/undo:", help_text="You first see what would be undone, and what cannot be.",
                           )  # fmt: skip
    return wanted
