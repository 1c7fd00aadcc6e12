"""Under the map: how it is being made anew, and the wish that it be."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.maps.map import MemoryMap
from atlas.views.map.page import SUGGESTED
from pages.components.shared.memory_map import MIN_SIZE, live_map

REFITTING = ("queued", "running")


def draw_refit(memory: MemorySystem, memory_map: MemoryMap) -> None:
    """A button that has the map made anew; while that goes on, how far it is. The page can be left meanwhile."""
    live = live_map(memory)
    if live.needs_worker():
        live.refit(_size())
    status = live.status()
    if status and status.state in REFITTING:
        _draw_progress(memory)
        return
    if status and status.state == "failed":
        st.warning("The map could not be made anew; this is the earlier one.", icon=":material/error:")
        st.text(status.message)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Make it anew", key="map_refit", icon=":material/refresh:", on_click=partial(_refit, memory))
        if memory_map.needs_refit:
            st.caption(SUGGESTED)


@st.fragment(run_every=0.7)
def _draw_progress(memory: MemorySystem) -> None:
    status = live_map(memory).status()
    if status is None or status.state not in REFITTING:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        words = f"Making the map: {status.message or 'waiting'}. This page can be left."
        st.progress(min(1.0, status.done / status.total) if status.total else 0.0, text=words)
        st.button("Cancel", key="map_refit_cancel", on_click=live_map(memory).cancel)


def _refit(memory: MemorySystem) -> None:
    live_map(memory).refit(_size())


def _size() -> int:
    size: int = st.session_state.get(MIN_SIZE, 0)
    return size
