"""The sidebar of all pages: scope, changes, store, and language model."""

from __future__ import annotations

from html import escape

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.queues import INBOX, UNSCOPED
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.shared.language_model import LanguageModel
from atlas.views.shared.state import (
    frozen_note,
    index_fault,
    index_problem,
    location_fact,
    store_choices,
    visitor_name_and_role,
)
from pages.components.shared.live import draw_live
from pages.components.shared.memory import STORE, OpenedMemory
from pages.components.shared.scope import draw_scope, n_experiences
from pages.frame.address import QUEUE, parameter

OVERVIEW = ("", "overview")
SCOPED = ("map", "curate")
"""Pages that the scope in the sidebar narrows, Curate except in the queues of all kinds of records."""


def draw_sidebar(opened: OpenedMemory, page: str) -> None:
    """Draw the scope bar, news of the store, its notes, and the language model.

    Args:
        page: The current page.
    """
    memory = opened.memory
    with st.sidebar:
        _draw_visitor()
        _draw_stores(memory, page)
        if memory.storage.read_only:
            st.badge("Read only", icon=":material/lock:", color="gray")
        if problem := index_problem(memory):
            st.warning(problem, icon=":material/cloud_off:")
            st.text(index_fault(memory))
        draw_live(memory)
        if page != EXPERIENCE.page and n_experiences(memory):  # that page draws it above its list
            # Drawn on all others, as its boxes forget their values otherwise. frame.css hides it where it has no use.
            with st.container(key="sidebar_scope" if _is_scoped(page) else "sidebar_scope_unused"):
                draw_scope(memory)
        if page in OVERVIEW:
            with st.expander("About this store", key="sidebar_store"):
                _draw_store(opened)
        if opened.model.client is not None:
            _draw_model(opened.model)


def _is_scoped(page: str) -> bool:
    return page in SCOPED and (page != "curate" or (parameter(QUEUE) or INBOX) not in UNSCOPED)


def _draw_visitor() -> None:
    """Draw the visitor's name, and a sign-out link, empty on a server without sign-in."""
    if visitor := visitor_name_and_role():
        st.html(f'{escape(visitor)} · <a style="color: inherit" href="/leave">Leave</a>')


def _draw_stores(memory: MemorySystem, page: str) -> None:
    """Draw the current store, links to the visitor's other stores, and when a copy was frozen.

    A link reloads the page, so that unfinished work is not carried to another store.
    """
    if note := frozen_note(memory):
        st.info(note, icon=":material/ac_unit:")
    names = list(store_choices())
    if len(names) > 1:
        current = st.session_state[STORE]
        other_names = [escape(name) for name in names if name != current]
        links = " · ".join(
            f'<a style="color: inherit" href="/{page}?{STORE}={name}">{name}</a>' for name in other_names
        )
        with st.container(key="sidebar_stores", gap=None):
            st.caption("Store")
            st.text(current)
            st.html(f"Open another: {links}")


def _draw_model(model: LanguageModel) -> None:
    """Draw the configured language model and its uses."""
    with st.expander(model.badge, icon=":material/smart_toy:", key="sidebar_model"):
        for sentence in model.sentences:
            st.text(sentence)


def _draw_store(opened: OpenedMemory) -> None:
    store = opened.memory.storage
    for name, place in location_fact(opened.memory).items():
        _draw_fact(name, place)
    if store.model is not None:
        _draw_fact("Embedding model", f"{store.model.name}\n{store.model.dimension} dimensions")
    for notice in opened.notices:
        st.text(notice)


def _draw_fact(name: str, value: str) -> None:
    with st.container(gap=None):
        st.caption(name)
        st.text(value)
