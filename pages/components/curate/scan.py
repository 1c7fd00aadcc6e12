"""Suspicious records and those in quarantine, with their reasons, shared by all visitors."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.case_view import case_reason, preview_lines
from atlas.views.curate.cases import Case
from atlas.views.curate.queues import LiveScan, ScanState
from atlas.views.lists.fitting import fitted
from pages.components.lists.record_table import PADDING_PIXELS, table_height

TITLE_PIXELS = 420


def page_scan(memory: MemorySystem) -> ScanState:
    """Return the findings so far."""
    return _live(str(memory.storage.path), memory.storage.read_only, id(memory), _memory=memory).known()


@st.cache_resource(show_spinner=False, max_entries=8, on_release=lambda live: live.close())
def _live(path: str, read_only: bool, opened: int, *, _memory: MemorySystem) -> LiveScan:
    return LiveScan(_memory)


def draw_suspicious(memory: MemorySystem, cases: Sequence[Case]) -> None:
    """Draw all records of a queue with their reasons."""
    if not cases:
        st.info("There is none here.", icon=":material/check:")
        return
    lines = [
        {"Kind": case.noun, "Title": fitted(title, TITLE_PIXELS - PADDING_PIXELS), "Why": case_reason(memory, case)}
        for case, title in zip(cases, preview_lines(memory, cases), strict=True)
    ]
    columns = {"Title": st.column_config.TextColumn("Title", width=TITLE_PIXELS)}
    st.dataframe(lines, column_config=columns, hide_index=True, height=table_height(len(lines)),
                 alt="Suspicious records")  # fmt: skip
