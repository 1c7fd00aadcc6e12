"""Near-duplicates of the current memory, shared by all visitors."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.queues import DuplicatesResult, LiveDuplicates
from pages.components.shared.memory_map import page_worker


def page_duplicates(memory: MemorySystem) -> DuplicatesResult:
    """Return the current groups."""
    return live_duplicates(memory).latest()


def live_duplicates(memory: MemorySystem) -> LiveDuplicates:
    """Return the live search for them."""
    return _live(str(memory.storage.path), memory.storage.read_only, id(memory), _memory=memory)


@st.cache_resource(show_spinner=False, max_entries=8, on_release=lambda live: live.close())
def _live(path: str, read_only: bool, opened: int, *, _memory: MemorySystem) -> LiveDuplicates:
    return LiveDuplicates(_memory, page_worker())
