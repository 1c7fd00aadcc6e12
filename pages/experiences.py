"""Experiences: what is in scope, sorted and paged; open one and read it step by step, select several."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.experiences import ORDERS, Query, ids_in_scope, n_pages, placed_and_marked
from atlas.views.scope import BEST_MATCH
from atlas.views.state import store_state
from atlas.views.wording import import_command
from pages.components.experience import experience_panel
from pages.components.listing import Found, find, read
from pages.components.mapping import page_map
from pages.components.memory import page_memory
from pages.components.messages import show_empty
from pages.components.scope import URL, current_scope, current_where, digest, n_experiences
from pages.components.selection import select
from pages.components.tables import ROWS, opened_id, selectable_table

LISTED = ("outcome", "task", "domain", "marks", "n_steps", "created_at", "source")
FOUND = ("outcome", "relevance", "task", "why", "domain", "marks", "source")
BESIDE = ("sign", "relevance", "task", "marks")


def ask(memory: MemorySystem) -> Query:
    """The scope and the order. Another question begins its list at the first page."""
    scope = current_scope()
    order = st.selectbox(
        "Sort", list(ORDERS), key="experiences_order", disabled=scope.is_search, width=170, bind=URL,
        label_visibility="collapsed",
    )  # fmt: skip
    with_irrelevant = scope.is_search and scope.by == BEST_MATCH and st.toggle(
        "Less relevant too", key="experiences_irrelevant", help="Also list what has little or nothing to do with it",
        bind=URL,
    )  # fmt: skip
    asked = repr((scope, order, with_irrelevant))
    if st.session_state.setdefault("experiences_asked", asked) != asked:
        st.session_state.update(experiences_asked=asked, experiences_page=1)
    return Query(scope=scope, where=current_where(memory), order=order, with_irrelevant=bool(with_irrelevant))


def draw_list(memory: MemorySystem, columns: tuple[str, ...] | None = None) -> None:
    """The experiences in scope, a page at a time."""
    state = store_state(memory)
    revision = state.revision
    bar = st.container(horizontal=True, vertical_alignment="center")
    with bar:
        query = ask(memory)
    found = find(memory, query, state)
    n_found = n_experiences(memory, query.where) if found is None else len(found)
    above = st.container()
    page = st.pagination(n_pages(n_found), key="experiences_page", bind=URL) if n_pages(n_found) > 1 else 1
    listing = read(memory, query, found, page, state)
    above.caption(f"{listing.caption}. Click one to open it." if listing.rows else listing.caption)
    if not listing.rows:
        return
    bar.button(f"Select all {n_found:,}", key="experiences_all", icon=":material/select_all:", on_click=select_all,
               args=(memory, query, found, revision))  # fmt: skip
    rows = placed_and_marked(memory, listing.rows, page_map(memory))
    key = f"experiences_table_{digest(query, [row.id for row in rows], state)}"
    with above:
        columns = columns or (LISTED if found is None else FOUND)
        selectable_table(rows, columns=columns, key=key, origin=ROWS, revision=revision)


def select_all(memory: MemorySystem, query: Query, found: Found, revision: int) -> None:
    """Select what is on all pages of the list."""
    select(ids_in_scope(memory, query, found), origin=ROWS, revision=revision)


def draw(memory: MemorySystem) -> None:
    """The list, and beside it the experience that is open."""
    opened = opened_id()
    if opened is None:
        draw_list(memory)
        return
    beside, panel = st.columns([3, 4], gap="medium")
    with beside:
        draw_list(memory, BESIDE)
    with panel:
        experience_panel(memory, opened)


memory = page_memory()
st.title("Experiences", anchor=False)
if n_experiences(memory):
    draw(memory)
else:
    show_empty(import_command(memory))
