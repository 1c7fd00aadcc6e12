"""Overview: introduction, effect of memory, weak tasks, and sizes of the memories."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.attention import AttentionRow, attention
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.overview.sample import remove_sample_data
from atlas.views.overview.summary import Overview, overview
from atlas.views.shared.state import StoreState, uses_seen
from pages.components.curate.duplicates import page_duplicates
from pages.components.curate.health import page_health
from pages.components.curate.inbox import page_cases
from pages.components.curate.scan import page_scan
from pages.components.evaluation.own import search_problem
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.empty import draw_empty
from pages.components.lists.heading import draw_heading
from pages.components.overview.first_look import ABOUT, NAME, draw_answers, draw_finding
from pages.components.overview.parts import draw_attention, draw_totals
from pages.components.shared.live import refreshing
from pages.components.shared.scope import current_where
from pages.components.shared.snapshot import page_memory, store_state
from pages.components.shared.undo_toast import announce, announcing_problems


def draw(memory: MemorySystem, view: Overview) -> None:
    """Draw the overview of a memory that is not empty. In a large store the cases to decide come after the heading."""
    head, rows = st.container(), attention_rows(memory, view)
    if rows:
        with head:
            draw_finding(memory, view, rows)
    found, duplicates = page_health(memory), page_duplicates(memory)
    cases = page_cases(memory, found, duplicates, current_where(memory), page_scan(memory))
    all_rows = attention_rows(memory, view, cases.inbox_counts(), has_failed=bool(duplicates.problem))
    if not rows:
        with head:
            draw_finding(memory, view, all_rows)
    draw_attention(all_rows)
    draw_answers(memory, view, found)


def attention_rows(
    memory: MemorySystem, view: Overview, waiting: Mapping[str, int] | None = None, *, has_failed: bool = False
) -> tuple[AttentionRow, ...]:
    """Return what needs attention, worst first.

    Args:
        memory: The memories.
        view: Their figures.
        waiting: Numbers of the cases in the inbox of Curate, by queue, which are the last row.
        has_failed: Whether the search for near-duplicates failed.
    """
    return attention(
        memory,
        waiting or {},
        n_own=view.n_own,
        now=datetime.now(UTC),
        search=search_problem(memory),
        has_failed=has_failed,
    )


def draw_sample(memory: MemorySystem, view: Overview) -> None:
    """Draw the sample-data notice and the button that deletes it."""
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", width="content"):
        n_others = view.rate.n - view.n_sample
        share = f": {view.n_sample:,} of {view.rate.n:,} experiences" if n_others else ""
        st.caption(f"Sample data for a first look{share}.", width="content")
        st.button(
            "Delete it",
            key="overview_remove_sample",
            type="tertiary",
            icon=":material/delete:",
            on_click=remove,
            args=(memory,),
            disabled=memory.storage.read_only,
            help=READ_ONLY if memory.storage.read_only else "This deletes nothing else. Undo brings the records back.",
        )


def remove(memory: MemorySystem) -> None:
    """Delete the sample data."""
    with announcing_problems():
        if done := remove_sample_data(memory):
            announce(done.operation_id, done.sentence)


@st.cache_data(max_entries=8, show_spinner=False)
def counted_overview(state: StoreState, tries: int, today: date, *, _memory: MemorySystem) -> Overview:
    """Return the overview, cached by the store's state, the strategies' uses and the day."""
    return overview(_memory, today)


memory = page_memory()
refreshing(memory)
row = draw_heading(NAME, ABOUT)
today = datetime.now(UTC).date()
view = counted_overview(store_state(memory), uses_seen(memory, STRATEGY), today, _memory=memory)
if view.rate.n:
    if view.n_sample:
        with row:
            draw_sample(memory, view)
    draw(memory, view)
else:
    draw_empty(memory)
    draw_attention(attention_rows(memory, view))
    draw_totals(view)
