"""The list of experiences as the store holds it, read once for each of its states."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from atlas import MemorySystem
from atlas.views.experiences import Listing, Query, listed_page
from atlas.views.finding import Found, experience_card, found_page, search
from atlas.views.hits import HitCard
from atlas.views.scope import BEST_MATCH
from atlas.views.state import StoreState
from pages.components.scope import digest

SEARCHING = "Searching. The first search loads the embedding model, which takes some seconds …"


def find(memory: MemorySystem, query: Query, state: StoreState) -> Found | None:
    """What answers the question, asked once for all of its pages; None for a list without a question."""
    if not query.scope.is_search:
        return None
    with st.spinner(SEARCHING if query.scope.by == BEST_MATCH else "Searching …"):
        return _searched(state, digest(query), _memory=memory, _query=query)


def read(memory: MemorySystem, query: Query, found: Found | None, page: int, state: StoreState) -> Listing:
    """One page of the list; the first is 1."""
    if found is not None:
        return found_page(memory, query, found, page)
    return _listed(state, digest(query), page, _memory=memory, _query=query)


def cards_of(memory: MemorySystem, query: Query, found: Found, ids: Iterable[str], state: StoreState) -> list[HitCard]:
    """The cards of some of what was found, without what was deleted meanwhile; ask only for those that are shown."""
    asked = digest(query)
    made = (_card(state, asked, one, _memory=memory, _query=query, _found=found) for one in ids)
    return [card for card in made if card is not None]


@st.cache_data(max_entries=16, show_spinner=False)
def _searched(state: StoreState, asked: str, *, _memory: MemorySystem, _query: Query) -> Found:
    return search(_memory, _query)


@st.cache_data(max_entries=512, show_spinner=False)
def _card(
    state: StoreState, asked: str, experience_id: str, *, _memory: MemorySystem, _query: Query, _found: Found
) -> HitCard | None:
    return experience_card(_memory, _query.scope.text, _found.hits.get(experience_id), experience_id)


@st.cache_data(max_entries=64, show_spinner=False)
def _listed(state: StoreState, asked: str, page: int, *, _memory: MemorySystem, _query: Query) -> Listing:
    return listed_page(_memory, _query, page)
