"""Notice of changes by other processes since this page was drawn."""

from __future__ import annotations

import logging

import streamlit as st

from atlas import AtlasError, MemorySystem
from atlas.views.shared.live import PageState, changes_since, page_state
from pages.components.lists.selection import current_selection
from pages.components.shared.memory_map import live_map
from pages.components.shared.snapshot import store_state
from pages.frame.address import acknowledge_address

MAPPED = "New experiences were added to the map"
HEIGHT = 44
"""Fixed height of the notice in pixels, two lines, as the widgets below must not move."""

_DRAWN, _REFRESHING, _MAP = "live_drawn", "live_refreshing", "live_map"

_log = logging.getLogger("atlas.dashboard")


def begin_run(memory: MemorySystem) -> None:
    """Record the state of the store that this run draws. Called before anything else is read."""
    st.session_state[_DRAWN] = page_state(memory, store_state(memory))
    st.session_state[_MAP] = live_map(memory).n_background_updates
    st.session_state[_REFRESHING] = False


def refreshing(memory: MemorySystem) -> None:
    """Reload this page when another process writes, unless there is a selection.

    For pages without widgets and dialogs, which a refresh would close.
    """
    st.session_state[_REFRESHING] = True


@st.fragment(run_every=1)
def draw_live(memory: MemorySystem) -> None:
    """Draw the changes since this page was drawn, with a refresh button.

    Polls every second. Widgets below must not move, as an open select box would close and lose the choice.
    """
    acknowledge_address()
    last: PageState | None = st.session_state.get(_DRAWN)
    try:
        notice = (changes_since(last, memory) if last else "") or _mapped(memory)
    except AtlasError as error:  # the store was closed, moved or damaged; the page's next run reports it
        _log.warning("cannot look for changes: %s", error)
        notice = "The store cannot be read now"
    if notice and st.session_state.get(_REFRESHING) and not current_selection().ids:
        st.rerun()
    with st.container(height=HEIGHT, border=False, vertical_alignment="center", key="live_notice"):
        if notice:
            _draw_notice(notice)


def _draw_notice(notice: str) -> None:
    news, show = st.columns([4, 1], gap="small", vertical_alignment="center")
    news.markdown(f":small[:blue[:material/sync: {notice}]]")
    if show.button("Show", key="live_show", type="tertiary"):
        st.rerun()


def _mapped(memory: MemorySystem) -> str:
    """Return the note that the map of a large store was updated since this page was drawn, or an empty string."""
    return MAPPED if live_map(memory).n_background_updates != st.session_state.get(_MAP, 0) else ""
