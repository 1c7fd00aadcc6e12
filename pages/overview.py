"""Overview: how much is remembered, how well it goes, what asks to be looked at, and what was done lately."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.overview.sample import load_sample_data, remove_sample_data
from atlas.views.overview.summary import Overview, overview
from atlas.views.shared.kinds import STRATEGY
from atlas.views.shared.state import StoreState, uses_seen
from pages.components.curate.duplicates import page_duplicates
from pages.components.curate.health import page_health
from pages.components.lists.editing import READ_ONLY
from pages.components.overview.files import SAMPLE, has_sample, n_bytes
from pages.components.overview.parts import (
    draw_concepts,
    draw_domains,
    draw_facts,
    draw_growth,
    draw_health,
    draw_journal,
    draw_operations,
    draw_sources,
    draw_strategies,
    draw_totals,
    go_on,
)
from pages.components.shared.commands import import_command
from pages.components.shared.live import refreshing
from pages.components.shared.messages import show_empty
from pages.components.shared.snapshot import page_memory, store_state
from pages.components.shared.undo_toast import announce, announcing_problems


def draw(memory: MemorySystem, view: Overview) -> None:
    """Draw the overview of a memory that holds something."""
    found, duplicates = page_health(memory), page_duplicates(memory)
    draw_totals(view.rate)
    draw_concepts(view.n_concepts)
    draw_journal(view.n_entries)
    growth, health = st.columns([5, 4], gap="medium")
    with growth:
        draw_growth(view.days)
    with health:
        draw_health(found, duplicates)
    domains, sources = st.columns([5, 4], gap="medium")
    with domains:
        draw_domains(found)
    with sources:
        draw_sources(view.sources)
    draw_strategies(view.strategies)
    draw_operations(view.operations)
    draw_facts(view.facts)


def draw_sample(memory: MemorySystem, view: Overview) -> None:
    """Draw that these are sample data, and the button that removes them."""
    with st.container(horizontal=True, border=True, vertical_alignment="center"):
        words = "These are" if view.n_sample == view.rate.n else f"{view.n_sample:,} of these are"
        st.markdown(f"{words} **sample data**, made up for a first look.")
        st.button(
            "Remove them",
            key="overview_remove_sample",
            icon=":material/delete:",
            on_click=remove,
            args=(memory,),
            disabled=memory.storage.read_only,
            help=READ_ONLY if memory.storage.read_only else "Only them, and it can be undone.",
        )


def remove(memory: MemorySystem) -> None:
    """Remove the sample data."""
    with announcing_problems():
        if done := remove_sample_data(memory):
            announce(done.operation_id, done.sentence)


def draw_empty(memory: MemorySystem, view: Overview) -> None:
    """Draw an empty memory: how to fill it, and something to try out."""
    show_empty(import_command(memory))
    draw_concepts(view.n_concepts)
    draw_journal(view.n_entries)
    draw_strategies(view.strategies)
    if not has_sample() or memory.storage.read_only:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        is_asked = st.button(
            "Load the sample data", key="overview_load_sample", type="primary", icon=":material/science:"
        )
        st.caption("Some 300 made-up attempts, to look around with. One click removes them again.")
    if is_asked:
        with st.spinner("Loading the sample data; this takes some seconds …", show_time=True), announcing_problems():
            if done := load_sample_data(memory, SAMPLE):
                announce(done.operation_id, done.sentence)
        st.rerun()


@st.cache_data(max_entries=8, show_spinner=False)
def counted_overview(state: StoreState, tries: int, *, _memory: MemorySystem) -> Overview:
    """Return the overview, worked out once for each state of the store, and each number of tries of its strategies."""
    return overview(_memory, n_bytes(_memory.storage.path))


memory = page_memory()
go_on()
refreshing(memory)
view = counted_overview(store_state(memory), uses_seen(memory, STRATEGY), _memory=memory)
st.title("Overview", anchor=False)
if view.n_sample:
    draw_sample(memory, view)
if view.rate.n:
    draw(memory, view)
else:
    draw_empty(memory, view)
    if view.operations:
        draw_operations(view.operations)
