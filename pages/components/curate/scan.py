"""The scan for suspicious records, and those in quarantine. All visitors share its results."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.case_rows import SUSPICIOUS_COLUMNS, suspicious_rows
from atlas.views.curate.cases import Case
from atlas.views.curate.queues import LiveScan, ScanState
from pages.components.lists.record_table import plain_table


def page_scan(memory: MemorySystem) -> ScanState:
    """Return the findings so far."""
    return _live(str(memory.storage.path), memory.storage.read_only, id(memory), _memory=memory).latest()


@st.cache_resource(show_spinner=False, max_entries=8, on_release=lambda live: live.close())
def _live(path: str, read_only: bool, opened: int, *, _memory: MemorySystem) -> LiveScan:
    return LiveScan(_memory)


def draw_suspicious(memory: MemorySystem, cases: Sequence[Case]) -> None:
    """Draw all records of a queue with their reasons."""
    if not cases:
        st.info("There is none here.", icon=":material/check:")
        return
    rows = suspicious_rows(memory, cases)
    plain_table(rows, columns=SUSPICIOUS_COLUMNS, key="curate_suspicious", label="Suspicious records")
