"""What stands beside every page: which store this is."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from pages.components.memory import opening_notices


def draw_sidebar(memory: MemorySystem) -> None:
    """The store's path and embedding model, and whether it can be changed from here."""
    store = memory.storage
    with st.sidebar:
        _draw_fact("Store", str(store.path))
        if store.read_only:
            st.badge("Read only", icon=":material/lock:", color="gray")
        if store.model is not None:
            _draw_fact("Embedding model", f"{store.model.name}\n{store.model.dimension} dimensions")
        for notice in opening_notices():
            st.text(notice)


def _draw_fact(name: str, value: str) -> None:
    with st.container(gap=None):
        st.caption(name)
        st.text(value)
