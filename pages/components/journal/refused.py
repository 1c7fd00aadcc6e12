"""The gates of the journal with their switches, and samples of refused entries, which can be accepted."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.refused import (
    ACCEPTANCE_REASON,
    SHOWN,
    VARIABLES,
    GateView,
    RefusedView,
    gate_views,
    refused_listing,
)
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.forms import act
from pages.components.shared.texts import draw_code
from pages.components.shared.undo_toast import Act, Turn, announce_act, announcing_problems


def draw_refused(memory: MemorySystem) -> None:
    """Draw the gates, how many entries each refused, and the latest refused entries."""
    st.caption(
        "Two gates check the observations, crashes and reflections that agents write. Entries that they refuse are "
        "kept here in full. Directives and tasks, which come from people, are always accepted."
    )
    for gate in gate_views(memory):
        _draw_gate(memory, gate)
    listing = refused_listing(memory, st.session_state.get("journal_refused_shown", SHOWN))
    if not listing.n:
        st.info("No entry has been refused.", icon=":material/check:")
        return
    for column, (words, n) in zip(st.columns(4), listing.by_gate, strict=False):
        column.metric(words.capitalize(), f"{n:,}", border=True)
    for refused in listing.entries:
        _draw_refused(memory, refused)
    if listing.caption:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(listing.caption)
            st.button("Show more", key="journal_refused_more", on_click=_show_more)


def _draw_gate(memory: MemorySystem, gate: GateView) -> None:
    """Draw whether a gate is on and why, and a button that switches it for all writers of the store."""
    disabled = memory.storage.read_only or gate.is_overridden
    why = f"Unset {VARIABLES[gate.name]} where the dashboard runs to switch it here." if gate.is_overridden else None
    verb = f"Switch {'off' if gate.is_on else 'on'}"
    sentence = f"{verb.replace('Switch', 'Switched', 1)} the gate for {gate.label.lower()}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(f"{gate.label}: {'on' if gate.is_on else 'off'}", color="green" if gate.is_on else "gray",
                 icon=":material/filter_alt:" if gate.is_on else ":material/filter_alt_off:")  # fmt: skip
        st.button(verb, key=f"journal_gate_{gate.name}", disabled=disabled, on_click=_switch,
                  args=(memory, gate.name, not gate.is_on, sentence),
                  help=READ_ONLY if memory.storage.read_only else why or "For everyone who writes to this store.",
                  )  # fmt: skip
        st.text(f"{gate.effect}. {gate.reason}")


def _switch(memory: MemorySystem, name: str, is_on: bool, sentence: str) -> None:
    with announcing_problems():
        announce_act(Act(sentence, _switching(name, is_on)(memory)))


def _switching(name: str, is_on: bool) -> Turn:
    def switch(memory: MemorySystem, /) -> Turn:
        memory.journal.switch_gate(name, is_on)
        return _switching(name, not is_on)

    return switch


def _draw_refused(memory: MemorySystem, refused: RefusedView) -> None:
    disabled = memory.storage.read_only
    with st.container(border=True, gap="xsmall"):
        draw_code(refused.text, key=f"journal_refused_{refused.id}")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button("Accept it", key=f"journal_accept_{refused.id}", icon=":material/check:", disabled=disabled,
                      on_click=_accept, args=(memory, refused.id),
                      help=READ_ONLY if disabled else "Writes it into the journal, in its round.")  # fmt: skip
            if refused.like_id:
                st.page_link("pages/journal.py", label="Open the entry that it repeats", icon=":material/open_in_new:",
                             query_params={"id": refused.like_id})  # fmt: skip
            st.text(f"{refused.entry_type}, round {refused.generation:,}, {refused.time}: {refused.reason}")


def _accept(memory: MemorySystem, refused_id: str) -> None:
    scoped = memory.journal.as_operation("store", ACCEPTANCE_REASON)
    act(lambda: scoped.accept(refused_id), scoped, "Accepted 1 refused entry")


def _show_more() -> None:
    st.session_state["journal_refused_shown"] = st.session_state.get("journal_refused_shown", SHOWN) + SHOWN
