"""The list of experiences as the store holds it, read once for each of its states."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.experiences import ExperienceRow, Listing, Query, found_page, listed_page, search_rows
from atlas.views.scope import BEST_MATCH
from atlas.views.state import StoreState
from pages.components.scope import digest

SEARCHING = "Searching. The first search loads the embedding model, which takes some seconds …"

Found = tuple[ExperienceRow, ...] | None
"""What a search found; None for a list without a question."""


def find(memory: MemorySystem, query: Query, state: StoreState) -> Found:
    """What answers the question, if there is one; asked once for all of its pages."""
    if not query.scope.is_search:
        return None
    with st.spinner(SEARCHING if query.scope.by == BEST_MATCH else "Searching …"):
        return _searched(state, digest(query), _memory=memory, _query=query)


def read(memory: MemorySystem, query: Query, found: Found, page: int, state: StoreState) -> Listing:
    """One page of the list; the first is 1."""
    if found is not None:
        return found_page(memory, query, found, page)
    return _listed(state, digest(query), page, _memory=memory, _query=query)


@st.cache_data(max_entries=16, show_spinner=False)
def _searched(state: StoreState, asked: str, *, _memory: MemorySystem, _query: Query) -> tuple[ExperienceRow, ...]:
    return search_rows(_memory, _query)


@st.cache_data(max_entries=64, show_spinner=False)
def _listed(state: StoreState, asked: str, page: int, *, _memory: MemorySystem, _query: Query) -> Listing:
    return listed_page(_memory, _query, page)
