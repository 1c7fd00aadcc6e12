"""Experiences: search, filter and sort them; open one and read it step by step."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import streamlit as st

from atlas import MemorySystem
from atlas.views.experiences import MEANING, ORDERS, WORDS, Query, known_outcomes, known_sources, listing, n_pages
from atlas.views.wording import import_command
from pages.components.experience import experience_panel
from pages.components.memory import page_memory
from pages.components.messages import show_empty
from pages.components.tables import experience_table, opened_id

URL: Literal["query-params"] = "query-params"
BY = (MEANING, WORDS)
LISTED = ("outcome", "task", "source", "domain", "n_steps", "created_at")
FOUND = ("outcome", "similarity", "bonuses", "task", "source", "n_steps")
BESIDE = ("sign", "similarity", "task")
SEARCHING = "Searching by meaning. The first search loads the embedding model, which takes some seconds …"


def ask(memory: MemorySystem) -> Query:
    """What the person asks for. All of it is in the URL, so that it can be reloaded and sent."""
    box, switch = st.columns([6, 1.5])
    with box:
        text = st.text_input("Search", key="experiences_text", type="search", placeholder="Describe a task", bind=URL)
    with switch:
        by = st.segmented_control("By", BY, default=MEANING, required=True, key="experiences_by", bind=URL)
    outcome, source, order = st.columns([2, 2, 1.5])
    with outcome:
        outcomes = filter_box("Outcome", known_outcomes(memory), key="experiences_outcomes")
    with source:
        sources = filter_box("Source", known_sources(memory), key="experiences_sources")
    with order:
        options, is_search = list(ORDERS), bool(text)
        sort = st.selectbox(
            "Sort", options, key="experiences_order", disabled=is_search, on_change=to_first_page, bind=URL
        )
    return Query(text=text or "", by=by or MEANING, outcomes=outcomes, sources=sources, order=sort)


def filter_box(label: str, options: Any, *, key: str) -> tuple[Any, ...]:
    """A choice of several values; none means all."""
    return tuple(st.multiselect(label, options, key=key, placeholder="All", on_change=to_first_page, bind=URL))


def to_first_page() -> None:
    """Another list begins at its first page."""
    st.session_state["experiences_page"] = 1


def draw_list(memory: MemorySystem, query: Query, columns: tuple[str, ...]) -> None:
    """The experiences that were asked for, a page at a time."""
    revision = memory.revision()
    above = st.container()
    pages = n_pages(memory, query)
    page = st.pagination(pages, key="experiences_page", bind=URL) if pages > 1 else 1
    with above, st.spinner(SEARCHING if query.is_search and query.by == MEANING else "Reading …"):
        found = listing(memory, query, page)
        st.caption(f"{found.caption}. Click one to open it." if found.rows else found.caption)
        asked = hashlib.sha256(repr((query, page, revision)).encode()).hexdigest()[:12]
        if found.rows:
            experience_table(found.rows, columns=columns, key=f"experiences_table_{asked}")


def draw(memory: MemorySystem) -> None:
    """The list, and beside it the experience that is open."""
    query, opened = ask(memory), opened_id()
    if opened is None:
        draw_list(memory, query, FOUND if query.is_search else LISTED)
        return
    beside, panel = st.columns([2, 3], gap="medium")
    with beside:
        draw_list(memory, query, BESIDE)
    with panel:
        experience_panel(memory, opened)


memory = page_memory()
st.title("Experiences", anchor=False)
if memory.experience.count():
    draw(memory)
else:
    show_empty(import_command(memory))
