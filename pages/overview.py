"""Overview: introduction, effect of memory, weak tasks, and sizes of the memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.attention import AttentionRow, attention
from atlas.views.curate.cases import Case
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
from pages.components.overview.first_look import ABOUT, draw_answers
from pages.components.overview.parts import draw_attention, draw_growth, draw_totals
from pages.components.shared.live import refreshing
from pages.components.shared.scope import current_where
from pages.components.shared.snapshot import page_memory, store_state
from pages.components.shared.undo_toast import announce, announcing_problems


def draw(memory: MemorySystem, view: Overview) -> None:
    """Draw the overview of a memory that is not empty. In a large store, the cases follow later."""
    found, duplicates = page_health(memory), page_duplicates(memory)
    draw_answers(memory, view, found)
    cases = page_cases(memory, found, duplicates, current_where(memory), page_scan(memory))
    draw_attention(attention_rows(memory, view, cases.inbox, has_failed=bool(duplicates.problem)))
    draw_growth(view)


def attention_rows(
    memory: MemorySystem, view: Overview, inbox: Sequence[Case] = (), *, has_failed: bool = False
) -> tuple[AttentionRow, ...]:
    """Return what needs attention, worst first.

    Args:
        memory: The memories.
        view: Their figures.
        inbox: The cases in the inbox of Curate, which are the last row.
        has_failed: Whether the search for near-duplicates failed.
    """
    return attention(
        memory,
        inbox,
        n_own=view.n_own,
        now=datetime.now(UTC),
        search=search_problem(memory),
        has_failed=has_failed,
    )


def draw_sample(memory: MemorySystem, view: Overview) -> None:
    """Draw the sample-data notice and the button that removes them."""
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", width="content"):
        n_others = view.rate.n - view.n_sample
        share = f": {view.n_sample:,} of {view.rate.n:,} experiences" if n_others else ""
        st.caption(f"Sample data{share}", width="content")
        st.button(
            "Remove sample data",
            key="overview_remove_sample",
            type="tertiary",
            on_click=remove,
            args=(memory,),
            disabled=memory.storage.read_only,
            help=READ_ONLY if memory.storage.read_only else "Deletes the sample data alone. Undo brings them back.",
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
row = draw_heading("Overview", ABOUT)
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
