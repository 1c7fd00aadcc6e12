"""The sidebar of every page: the scope, what changed meanwhile, the store, and the language model."""

from __future__ import annotations

import streamlit as st

from atlas.views.shared.kinds import EXPERIENCE, kind_on
from atlas.views.shared.language_model import LanguageModel
from pages.components.shared.live import draw_live
from pages.components.shared.memory import Opened
from pages.components.shared.scope import draw_scope, n_experiences

UNSCOPED = ("ask", "settings")
"""Pages that the scope of the experiences does not narrow, beside those about other memories."""


def draw_sidebar(opened: Opened, page: str) -> None:
    """Draw the scope bar, news of the store, its path and embedding model, and the language model.

    Args:
        page: The page that it stands beside.
    """
    memory = opened.memory
    with st.sidebar:
        if memory.storage.read_only:
            st.badge("Read only", icon=":material/lock:", color="gray")
        draw_live(memory)
        if n_experiences(memory) and kind_on(page) is EXPERIENCE and page not in UNSCOPED:
            draw_scope(memory)
        elif n_experiences(memory):
            with st.expander("Scope of the experiences", key="sidebar_scope"):  # it does not narrow this page
                draw_scope(memory)
        with st.expander("About this store", key="sidebar_store"):
            _draw_store(opened)
        _draw_model(opened.model)


def _draw_model(model: LanguageModel) -> None:
    """Draw which language model may be asked, or that there is none, and what that means."""
    with st.expander(model.badge, icon=":material/smart_toy:", key="sidebar_model"):
        for sentence in model.sentences:
            st.text(sentence)


def _draw_store(opened: Opened) -> None:
    store = opened.memory.storage
    _draw_fact("Path", str(store.path))
    if store.model is not None:
        _draw_fact("Embedding model", f"{store.model.name}\n{store.model.dimension} dimensions")
    for notice in opened.notices:
        st.text(notice)


def _draw_fact(name: str, value: str) -> None:
    with st.container(gap=None):
        st.caption(name)
        st.text(value)
