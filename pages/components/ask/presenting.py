"""Presentation mode of Ask: large type, no sidebar, and keys to switch examples."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.ask.examples import demonstrations, neighbour
from atlas.views.shared.browser import asset
from atlas.views.shared.state import StoreState
from pages.components.ask.proof import effect_of
from pages.components.lists.filters import URL
from pages.components.shared.snapshot import store_state

_PRESENT, _TEXT, _KEYS = "ask_present", "ask_text", "ask_keys"

_keys = st.components.v2.component("keys", js=asset("keys.js"))


def is_presenting() -> bool:
    """Return whether the page is being presented."""
    return bool(st.session_state.get(_PRESENT))


def draw_presenting(memory: MemorySystem) -> None:
    """Draw the switch of the presentation mode and its navigation. frame.css enlarges the page."""
    st.toggle("Presentation", key=_PRESENT, bind=URL, on_change=_begin, args=(memory,))
    if not is_presenting():
        return
    with st.container(key="ask_presenting", horizontal=True, vertical_alignment="center", width="content", gap="small"):
        for label, is_next in (("← Previous", False), ("Next →", True)):
            name = "next" if is_next else "previous"
            st.button(label, key=f"ask_{name}", on_click=_go, args=(memory,), kwargs={"is_next": is_next})
        st.caption("Keys: ← → and Esc", width="content")
        _keys(key=_KEYS, on_pressed_change=partial(_press, memory), height="content")


def _press(memory: MemorySystem) -> None:
    pressed = st.session_state[_KEYS].get("pressed")
    if pressed == "end":
        st.session_state[_PRESENT] = False
    elif pressed:
        _go(memory, is_next=pressed == "next")


def _begin(memory: MemorySystem) -> None:
    """Start with an example if there is no query."""
    if is_presenting() and not (st.session_state.get(_TEXT) or "").strip():
        _go(memory, is_next=True)


def _go(memory: MemorySystem, *, is_next: bool) -> None:
    questions = _examples(memory)
    if questions:
        st.session_state[_TEXT] = neighbour(questions, st.session_state.get(_TEXT) or "", is_next=is_next)


def _examples(memory: MemorySystem) -> tuple[str, ...]:
    return _demonstrations(store_state(memory), _memory=memory)


@st.cache_data(max_entries=4, show_spinner=False)
def _demonstrations(state: StoreState, *, _memory: MemorySystem) -> tuple[str, ...]:
    return demonstrations(_memory, effect_of(_memory))
