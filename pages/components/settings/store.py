"""The store as a whole: location, size and checks."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.settings.doctor import Examination, examined
from atlas.views.settings.store import names_of_collections, record_counts, store_facts
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.snapshot import store_state
from pages.components.shared.undo_toast import announcing_problems

_FOUND = "settings_doctor_found"

FINDING_COLUMNS = {
    "sign": st.column_config.TextColumn("", width=40),
    "check": st.column_config.TextColumn("Check", width=140),
    "about": st.column_config.TextColumn("What is compared", width="medium"),
    "verdict": st.column_config.TextColumn("Result", width="large"),
}


def draw_store(memory: MemorySystem) -> None:
    """Draw the facts about the store, its contents and its checks."""
    left, right = st.columns([5, 4], gap="medium")
    with left:
        draw_facts(store_facts(memory, memory.storage.n_bytes()))
    with right:
        _draw_counts(memory)
    _draw_doctor(memory)


def draw_facts(facts: dict[str, str]) -> None:
    """Draw labelled facts."""
    for name, value in facts.items():
        with st.container(gap=None):
            st.caption(name)
            st.text(value)


def _draw_counts(memory: MemorySystem) -> None:
    counts, named = record_counts(memory), names_of_collections(memory)
    rows = [{"Kind": kind, "Records": counts.get(name, 0)} for name, kind in named.items()]
    st.dataframe(rows, hide_index=True, alt="Records of each kind")


def _draw_doctor(memory: MemorySystem) -> None:
    st.subheader("Store check", anchor=False)
    st.caption("Checks the store's database and everything derived from it. Checking changes nothing.")
    st.button("Check the store", key="settings_doctor", icon=":material/stethoscope:", on_click=_examine,
              args=(memory,))  # fmt: skip
    report = st.session_state.get(_FOUND)
    if report is None:
        return
    state, found = report
    if state != store_state(memory):
        st.caption("The store has changed since it was checked.")
    _draw_found(memory, found)


def _draw_found(memory: MemorySystem, found: Examination) -> None:
    (st.warning if found.n_left else st.success)(found.sentence)
    rows = [{"sign": "✓" if row.is_ok else "✗", **asdict(row)} for row in found.rows]
    st.dataframe(rows, column_config=FINDING_COLUMNS, column_order=list(FINDING_COLUMNS), hide_index=True,
                 alt="What each check found")  # fmt: skip
    if found.n_left:
        disabled = memory.storage.read_only
        st.button("Repair what can be repaired", key="settings_doctor_fix", type="primary", disabled=disabled,
                  on_click=_examine, args=(memory,), kwargs={"fix": True},
                  help=READ_ONLY if disabled else "Rebuilds derived parts from the database.")  # fmt: skip


def _examine(memory: MemorySystem, *, fix: bool = False) -> None:
    with announcing_problems(), st.spinner("Checking the store …", show_time=True):
        found = examined(memory, fix=fix)
        st.session_state[_FOUND] = store_state(memory), found
