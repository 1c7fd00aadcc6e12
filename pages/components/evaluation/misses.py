"""The judged queries whose first hit is not right. A row opens its query on Ask."""

from __future__ import annotations

import streamlit as st

from atlas import EmbeddingUnavailable, MemorySystem
from atlas.views.evaluation.misses import Misses, miss_rows, missed_queries
from atlas.views.kinds.columns import Column
from pages.components.lists.record_table import plain_table
from pages.components.shared.narrowing import go_from_click
from pages.components.shared.snapshot import store_state

TITLE = "Judged queries that search gets wrong"
MAX_SECONDS = 600
"""Seconds that a list is shown before it is searched again, because agents may write all the time."""

COLUMNS = (
    Column("query", "Query", 300),
    Column("first", "Came first", 300),
    Column("right", "Judged right", 300),
    Column("rank", "Its rank", 80, help_text="Place of the right record among the first 10 hits."),
    Column("action", "", 60, "button"),
)


def draw_misses(memory: MemorySystem) -> None:
    """Draw the judged queries that search answers worst, if any are judged."""
    judged = memory.storage.judgements.state()
    if not judged:
        return
    state = store_state(memory)
    try:
        with st.spinner("Searching for the judged queries …"):
            viewer = state.path, state.ledger_id, state.writer, state.is_agent
            misses = _misses(viewer, judged, memory.strictness(), _memory=memory)
    except EmbeddingUnavailable:  # the stored figures can be read without a search
        return
    if not misses.n_searched:
        return
    st.markdown(f"##### {TITLE}")
    st.caption(misses.sentence)
    if misses.worst:
        plain_table(miss_rows(memory, misses), columns=COLUMNS, key="evaluation_misses", label=TITLE, on_opened=_ask)


def _ask(query: str) -> None:
    """Open a query on Ask. Callback of the table."""
    go_from_click("pages/ask.py", ask_text=query)


@st.cache_data(max_entries=8, ttl=MAX_SECONDS, show_spinner=False)
def _misses(viewer: tuple[str | bool, ...], judged: str, strictness: float, *, _memory: MemorySystem) -> Misses:
    return missed_queries(_memory)
