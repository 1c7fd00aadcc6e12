"""The map of the current memory, for all pages with domains."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared.results import LiveColumns, LiveMap, Worker

MIN_SIZE = "map_min_size"
"""Session key of the chosen minimum domain size."""


def live_map(memory: MemorySystem) -> LiveMap:
    """Return the updater of the map of this memory."""
    return _live_map(str(memory.storage.path), memory.storage.read_only, id(memory), _memory=memory)


def live_columns(memory: MemorySystem) -> LiveColumns:
    """Return the updater of the map's points."""
    return _live_columns(str(memory.storage.path), id(memory), _memory=memory)


@st.cache_resource(show_spinner=False, on_release=lambda worker: worker.close())
def page_worker() -> Worker:
    """Return the worker process for the jobs of all pages."""
    return Worker()


@st.cache_resource(show_spinner=False, max_entries=8, on_release=lambda live: live.close())
def _live_map(path: str, read_only: bool, opened: int, *, _memory: MemorySystem) -> LiveMap:
    return LiveMap(_memory, page_worker())


@st.cache_resource(show_spinner=False, max_entries=8)
def _live_columns(path: str, opened: int, *, _memory: MemorySystem) -> LiveColumns:
    return LiveColumns(_memory)
