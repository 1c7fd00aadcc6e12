"""What stands beside every page: the scope, what changed meanwhile, and which store this is."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.kinds import EXPERIENCE, kind_on
from pages.components.live import draw_live
from pages.components.memory import opening_notices
from pages.components.scope import draw_scope, n_experiences


def draw_sidebar(memory: MemorySystem, page: str) -> None:
    """The scope bar, news of the store, and its path and embedding model.

    Args:
        page: The page that it stands beside.
    """
    with st.sidebar:
        if memory.storage.read_only:
            st.badge("Read only", icon=":material/lock:", color="gray")
        draw_live(memory)
        if n_experiences(memory) and kind_on(page) is EXPERIENCE:
            draw_scope(memory, page)
        elif n_experiences(memory):
            with st.expander("Scope of the experiences", key="sidebar_scope"):  # it does not narrow this page
                draw_scope(memory, page)
        with st.expander("About this store", key="sidebar_store"):
            _draw_store(memory)


def _draw_store(memory: MemorySystem) -> None:
    store = memory.storage
    _draw_fact("Path", str(store.path))
    if store.model is not None:
        _draw_fact("Embedding model", f"{store.model.name}\n{store.model.dimension} dimensions")
    for notice in opening_notices():
        st.text(notice)


def _draw_fact(name: str, value: str) -> None:
    with st.container(gap=None):
        st.caption(name)
        st.text(value)
