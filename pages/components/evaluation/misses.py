"""The judged queries whose first hit is not right. A row opens its query on Ask."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.evaluation.misses import UNKNOWN, MissedQueries, miss_rows, misses_sentence
from atlas.views.kinds.columns import Column
from pages.components.lists.record_table import plain_table
from pages.components.shared.narrowing import go_from_click

TITLE = "Judged queries that search gets wrong"

COLUMNS = (
    Column("query", "Query", 300),
    Column("first", "Came first", 300),
    Column("right", "Judged right", 300),
    Column("rank", "Its rank", 80, help_text="Rank of the record that was judged right, among the first 10 hits."),
    Column("action", "", 60, "button"),
)


def draw_misses(memory: MemorySystem, missed: MissedQueries | None) -> None:
    """Draw the judged queries that search answered worst when it was measured, if any are judged."""
    if not memory.storage.judgements.state() or (missed is not None and not missed.n_judged):
        return
    st.markdown(f"##### {TITLE}")
    if missed is None:
        st.caption(UNKNOWN)
        return
    rows = miss_rows(memory, missed)
    st.caption(misses_sentence(missed, len(rows), memory.strictness()))
    if rows:
        plain_table(rows, columns=COLUMNS, key="evaluation_misses", label=TITLE, on_opened=_ask)


def _ask(query: str) -> None:
    """Open a query on Ask. Callback of the table."""
    go_from_click("pages/ask.py", ask_text=query)
