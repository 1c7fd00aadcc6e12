"""The list of concepts: what is asked for, its rows, and what an empty library offers."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from atlas import CodeConcept, Hit, MemorySystem
from atlas.views.concepts import (
    NEWEST,
    ORDERS,
    ConceptListing,
    ConceptOptions,
    ConceptQuery,
    concept_options,
    found_concepts,
    listed_concepts,
    search_concepts,
)
from atlas.views.experiences import n_pages
from atlas.views.kinds import CONCEPT
from atlas.views.overview import Done
from atlas.views.primitives import load_primitives, loader_names, n_missing, n_updates, update_primitives
from atlas.views.state import StoreState, store_state, uses_seen
from atlas.views.wording import counted, import_command
from pages.components.acts import announce, announcing_problems, say_problem
from pages.components.editing import READ_ONLY
from pages.components.filters import draw_choice, turn_to_first_page
from pages.components.listing import SEARCHING
from pages.components.scope import URL, digest
from pages.components.tables import selectable_table

LISTED = ("name", "description", "source", "language", "n_uses", "succeeded", "marks", "created_at")
FOUND = ("name", "relevance", "description", "why", "source", "language", "n_uses", "succeeded", "marks")
BESIDE = ("name", "relevance", "description", "source", "n_uses", "succeeded", "marks")

ROWS = "rows on Concepts"
"""What the tray calls a selection that was made here."""

FILTERS = ("concepts_source", "concepts_language", "concepts_tag")


def ask(memory: MemorySystem) -> ConceptQuery:
    """The boxes above the list. Another question begins it at the first page."""
    options = _options(store_state(memory), _memory=memory)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Search", key="concepts_text", type="search", placeholder="What should it do?", bind=URL,
                             width=250)  # fmt: skip
        sources = draw_choice("Source", options.sources, key="concepts_source")
        languages = draw_choice("Language", options.languages, key="concepts_language")
        tags = draw_choice("Tag", options.tags, key="concepts_tag")
        is_search = bool(text and text.strip())
        order = st.selectbox("Sort", list(ORDERS), key="concepts_order", disabled=is_search, width=160, bind=URL)
        with_irrelevant = is_search and st.toggle(
            "Less relevant too", key="concepts_irrelevant", help="Also list what has little or nothing to do with it",
            bind=URL,
        )  # fmt: skip
    query = ConceptQuery(
        text=text or "",
        sources=sources,
        languages=languages,
        tags=tags,
        order=order or NEWEST,
        with_irrelevant=bool(with_irrelevant),
    )
    turn_to_first_page(query, "concepts")
    return query


def draw_list(memory: MemorySystem, query: ConceptQuery, columns: tuple[str, ...] | None = None) -> None:
    """The concepts that are asked for, a page at a time."""
    state, uses = store_state(memory), uses_seen(memory, CONCEPT)
    above = st.container()
    listing = _read(memory, query, int(st.session_state.get("concepts_page") or 1), state, uses)
    if n_pages(listing.n) > 1:
        page = st.pagination(n_pages(listing.n), key="concepts_page", bind=URL)
        listing = _read(memory, query, page, state, uses)
    above.caption(f"{listing.caption}. Click one to open it." if listing.rows else listing.caption)
    if not listing.rows:
        return
    with above:
        columns = columns or (FOUND if query.is_search else LISTED)
        key = f"concepts_table_{digest(query, [row.id for row in listing.rows], state, uses)}"
        selectable_table(listing.rows, columns=columns, key=key, origin=ROWS, revision=state.revision, kind=CONCEPT)


def draw_empty(memory: MemorySystem) -> None:
    """A library without concepts: how to fill it."""
    st.info("There is no concept yet.", icon=":material/inbox:")
    if loader_names() and not memory.storage.read_only:
        st.text("Begin with the primitives of a domain: functions that run, with examples.")
        draw_loaders(memory)
    st.text("Import a skill library from a terminal; Voyager's JSON is recognised. Reload this page afterwards.")
    st.code(import_command(memory), language=None, wrap_lines=True)
    if memory.concepts.count_trash():
        st.page_link("pages/history.py", label="Concepts were deleted; the trash has them", icon=":material/delete:",
                     query_params={"history_tab": "Trash", "history_kind": "Concepts"})  # fmt: skip


def draw_loaders(memory: MemorySystem) -> None:
    """For each library of primitives that is installed, a button for what is missing of it, and for what came newer."""
    is_off = memory.storage.read_only
    hint = READ_ONLY if is_off else "It can be undone."
    with st.container(horizontal=True):
        for number, (name, missing, newer) in enumerate(_offered(store_state(memory), _memory=memory)):
            if missing:
                st.button(f"Load {counted(missing, 'primitive')} of {name}", key=f"concepts_load_{number}",
                          icon=":material/download:", disabled=is_off, on_click=_load,
                          args=(memory, name, load_primitives),
                          help=f"Functions that run, with examples. {hint}")  # fmt: skip
            if newer:
                st.button(f"Update {counted(newer, 'primitive')} of {name}", key=f"concepts_update_{number}",
                          icon=":material/upgrade:", disabled=is_off, on_click=_load,
                          args=(memory, name, update_primitives),
                          help=f"They are newer here than in the library. {hint}")  # fmt: skip


def _load(memory: MemorySystem, name: str, act: Callable[[MemorySystem, str], Done | None]) -> None:
    with announcing_problems(), st.spinner("Loading and embedding the primitives …"):
        done = act(memory, name)
        if done is None:
            say_problem("The library has all of them already.")
        else:
            announce(done.operation_id, done.sentence)


@st.cache_data(max_entries=4, show_spinner=False)
def _offered(state: StoreState, *, _memory: MemorySystem) -> list[tuple[str, int, int]]:
    """Of each library of primitives its name, how many of it are missing, and how many came newer."""
    return [(name, n_missing(_memory, name), n_updates(_memory, name)) for name in loader_names()]


def _read(memory: MemorySystem, query: ConceptQuery, page: int, state: StoreState, uses: int) -> ConceptListing:
    if not query.is_search:
        return _listed(state, uses, digest(query), page, _memory=memory, _query=query)
    with st.spinner(SEARCHING):
        found = _searched(state, uses, digest(query), _memory=memory, _query=query)
    return found_concepts(memory, query, found, page)


@st.cache_data(max_entries=8, show_spinner=False)
def _options(state: StoreState, *, _memory: MemorySystem) -> ConceptOptions:
    return concept_options(_memory)


@st.cache_data(max_entries=16, show_spinner=False)
def _searched(
    state: StoreState, uses: int, asked: str, *, _memory: MemorySystem, _query: ConceptQuery
) -> tuple[Hit[CodeConcept], ...]:
    return search_concepts(_memory, _query)


@st.cache_data(max_entries=64, show_spinner=False)
def _listed(
    state: StoreState, uses: int, asked: str, page: int, *, _memory: MemorySystem, _query: ConceptQuery
) -> ConceptListing:
    return listed_concepts(_memory, _query, page)
