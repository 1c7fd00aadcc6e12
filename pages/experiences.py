"""Experiences: what is in scope, sorted and paged. Open one and read it step by step, select several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.experience.finding import Found, ids_found
from atlas.views.experience.list import ORDERS, ExperienceRow, Query, placed_and_marked
from atlas.views.lists.listing import n_pages
from atlas.views.shared.kinds import EXPERIENCE
from atlas.views.shared.scope import BEST_MATCH
from atlas.views.shared.state import StoreState
from pages.components.experience.list import LISTER, draw_why
from pages.components.experience.panel import experience_panel
from pages.components.lists.filters import draw_irrelevant, turn_to_first_page
from pages.components.lists.listing import cards_of, find, read
from pages.components.lists.record_table import opened_id, origin_of, selectable_table
from pages.components.lists.selection import select
from pages.components.shared.cards import draw_cards, is_as_cards
from pages.components.shared.commands import import_command
from pages.components.shared.messages import show_empty
from pages.components.shared.narrowing import current_scope
from pages.components.shared.scope import URL, current_where, digest, draw_awaited, n_experiences
from pages.components.shared.snapshot import page_map, page_memory, store_state

LISTED = ("outcome", "task", "domain", "marks", "n_steps", "created_at", "source")
FOUND = ("outcome", "relevance", "task", "attempts", "why", "domain", "marks", "source")
BESIDE = ("sign", "relevance", "task", "attempts", "marks")


def ask(memory: MemorySystem) -> Query:
    """Return the scope and the order. Another question begins its list at the first page."""
    scope = current_scope()
    order = st.selectbox(
        "Sort", list(ORDERS), key="experiences_order", disabled=scope.is_search, width=170, bind=URL,
        label_visibility="collapsed",
    )  # fmt: skip
    is_ranked = scope.is_search and scope.by == BEST_MATCH
    with_irrelevant = is_ranked and draw_irrelevant("experiences")
    distinct = is_ranked and st.toggle(
        "One per task", key="experiences_distinct", help="Show attempts at one task that are alike as one, the best",
        bind=URL,
    )  # fmt: skip
    turn_to_first_page((scope, order, with_irrelevant, distinct), "experiences")
    where = current_where(memory)
    return Query(scope=scope, where=where, order=order, with_irrelevant=with_irrelevant, distinct=distinct)


def draw_list(memory: MemorySystem, query: Query, found: Found | None, state: StoreState, bar: DeltaGenerator) -> None:
    """Draw the experiences in scope, a page at a time.

    Args:
        state: The store's, when it was searched.
        bar: Where what can be done with all of them is added.
    """
    n_found = n_experiences(memory, query.where) if found is None else len(found.rows)
    above = st.container()
    page = st.pagination(n_pages(n_found), key="experiences_page", bind=URL) if n_pages(n_found) > 1 else 1
    listing = read(LISTER, memory, query, found, page, state)
    with bar:
        as_cards = is_as_cards(found)
        if listing.rows:
            st.button(f"Select all {n_found:,}", key="experiences_all", icon=":material/select_all:",
                      on_click=select_all, args=(memory, query, found, state.revision))  # fmt: skip
    with above:
        invitation = "" if as_cards or not listing.rows else ". Click one to open it."
        st.caption(f"{listing.caption}{invitation}")
        if found is not None and as_cards:
            cards = cards_of(LISTER, memory, query, found, (row.id for row in listing.rows), state)
            draw_cards(cards, revision=state.revision)
        elif listing.rows:
            draw_table(memory, query, found, state, listing.rows)


def draw_table(
    memory: MemorySystem, query: Query, found: Found | None, state: StoreState, listed: Sequence[ExperienceRow]
) -> None:
    """Draw one page of the experiences as a table."""
    rows = placed_and_marked(memory, listed, page_map(memory))
    key = f"experiences_table_{digest(query, [row.id for row in rows], state)}"
    columns = BESIDE if opened_id() else LISTED if found is None else FOUND
    selectable_table(rows, columns=columns, key=key, origin=origin_of(EXPERIENCE), revision=state.revision)


def select_all(memory: MemorySystem, query: Query, found: Found | None, revision: int) -> None:
    """Select what is on all pages of the list."""
    select(ids_found(memory, query, found), origin=origin_of(EXPERIENCE), revision=revision)


def draw(memory: MemorySystem) -> None:
    """Draw the list, and beside it the experience that is open."""
    opened, state = opened_id(), store_state(memory)
    beside, panel = st.columns([3, 4], gap="medium") if opened else (st.container(), None)
    with beside:
        bar = st.container(horizontal=True, vertical_alignment="center")
        with bar:
            query = ask(memory)
        found = find(LISTER, memory, query, state)
        if not draw_awaited(memory):
            draw_list(memory, query, found, state, bar)
    if opened and panel is not None:
        with panel:
            experience_panel(memory, opened, partial(draw_why, memory, query, found, state, opened))


memory = page_memory()
st.title("Experiences", anchor=False)
if n_experiences(memory):
    draw(memory)
else:
    show_empty(import_command(memory))
