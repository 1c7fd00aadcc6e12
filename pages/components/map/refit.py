"""How the map is made: its settings, the button for a new one, and its progress."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.map.page import ENGINE_HELP, REFIT_ENGINES, SUGGESTED, quality_help, quality_text
from atlas.views.map.sheet import Sheet
from pages.components.map.domains import draw_size
from pages.components.shared.jobs import draw_cancel
from pages.components.shared.memory_map import MIN_SIZE, live_map

REFITTING = ("queued", "running")
ENGINE = "map_engine"
"""Key of the box for the layout of the new map."""


def draw_refit(memory: MemorySystem, sheet: Sheet) -> None:
    """Draw how the map was made, with the settings of a new one, or the progress of one that is being made."""
    live = live_map(memory)
    if live.is_worker_needed():
        live.refit(_size())
    status = live.status()
    if status and status.state in REFITTING:
        _draw_progress(memory)
        return
    if status and status.state == "failed":
        st.warning("No new map could be made; this is the earlier one.", icon=":material/error:")
        st.text(status.message)
    if sheet.map.needs_refit:
        st.caption(f"{SUGGESTED} Make a new map below.")
    with st.expander("How the map is made"):
        st.caption(quality_text(sheet.map), help=quality_help(sheet.map))
        if not sheet.map.is_sketch:
            draw_size(sheet)
        st.selectbox("Laid out by", list(REFIT_ENGINES), format_func=REFIT_ENGINES.__getitem__, key=ENGINE,
                     help=ENGINE_HELP, persist_state="session")  # fmt: skip
        st.button("Make a new map", key="map_refit", icon=":material/refresh:", on_click=_refit, args=(memory,))


@st.fragment(run_every=0.7)
def _draw_progress(memory: MemorySystem) -> None:
    status = live_map(memory).status()
    if status is None or status.state not in REFITTING:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        words = f"Making the map: {status.message or 'waiting'}. You can leave this page."
        st.progress(min(1.0, status.done / status.total) if status.total else 0.0, text=words)
        draw_cancel(live_map(memory), key="map_refit_cancel")


def _refit(memory: MemorySystem) -> None:
    live_map(memory).refit(_size(), st.session_state[ENGINE])


def _size() -> int:
    size: int = st.session_state.get(MIN_SIZE, 0)
    return size
