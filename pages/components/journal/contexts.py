"""The three contexts: the entries that an agent would be given, within limits of entries and tokens."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.contexts import (
    FOR_EVOLUTION,
    FOR_TASK,
    QUOTAS,
    ContextEntry,
    ContextQuery,
    ContextView,
    context_view,
    quota_sentence,
)
from atlas.views.shared.state import StoreState
from pages.components.lists.filters import URL, digest
from pages.components.lists.listing import SEARCHING
from pages.components.shared.snapshot import store_state
from pages.components.shared.texts import draw_prose_or_code


def draw_contexts(memory: MemorySystem) -> None:
    """Draw the settings of a context, and the context that an agent would get."""
    query = _ask()
    st.caption(quota_sentence(query.purpose))
    if query.purpose == FOR_TASK and not query.task.strip():
        st.info("Enter what the agent was asked to see what it would be told.", icon=":material/edit:")
        return
    if query.limit is None and query.token_budget is None:
        st.info("Give a number of entries, or a token budget, or both.", icon=":material/edit:")
        return
    with st.spinner(SEARCHING if query.purpose == FOR_TASK else "Choosing …"):
        view = _view(store_state(memory), digest(query), _memory=memory, _query=query)
    st.markdown(f"**{view.caption}**")
    if query.token_budget:
        st.progress(min(1.0, view.n_tokens / query.token_budget))
    for entry in view.entries:
        _draw_entry(entry)


def _ask() -> ContextQuery:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        purpose = st.segmented_control("What the agent will do", list(QUOTAS), default=FOR_EVOLUTION, required=True,
                                       key="journal_context", bind=URL)  # fmt: skip
        limit = st.number_input("Maximum entries", 0, 500, 10, key="journal_limit", placeholder="any", width=140,
                                bind=URL)  # fmt: skip
        budget = st.number_input("Maximum tokens", 0, 10**6, None, 100, key="journal_budget", placeholder="any",
                                 width=140, bind=URL)  # fmt: skip
    task = ""
    if purpose == FOR_TASK:
        task = st.text_area("Task", key="journal_task", placeholder="What the agent was asked", height=80, bind=URL)
    return ContextQuery(purpose=purpose or FOR_EVOLUTION, task=task or "", limit=limit, token_budget=budget)


def _draw_entry(entry: ContextEntry) -> None:
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"{entry.row.entry_type}, round {entry.row.generation:,}, about {entry.n_tokens:,} tokens")
            st.page_link("pages/journal.py", label="Open", icon=":material/open_in_new:",
                         query_params={"id": entry.row.id})  # fmt: skip
        draw_prose_or_code(entry.text, key=f"journal_told_{entry.row.id}")


@st.cache_data(max_entries=16, show_spinner=False)
def _view(state: StoreState, key: str, *, _memory: MemorySystem, _query: ContextQuery) -> ContextView:
    return context_view(_memory, _query)
