"""The store as a whole: location, size and checks."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.settings.copies import last_backup
from atlas.views.settings.doctor import Examination, examined
from atlas.views.settings.store import RARE, names_of_collections, record_counts, search_facts, store_facts
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.snapshot import opening_model, store_state
from pages.components.shared.undo_toast import announcing_problems

_FOUND = "settings_doctor_found"

NAME_PIXELS = 136
"""Width of the names of facts."""

FINDING_COLUMNS = {
    "sign": st.column_config.TextColumn("", width=40),
    "check": st.column_config.TextColumn("Check", width=140),
    "about": st.column_config.TextColumn("What is compared", width="medium"),
    "verdict": st.column_config.TextColumn("Result", width="large"),
}


def draw_store(memory: MemorySystem) -> None:
    """Draw the status of the store in cards: its safety and contents, and below them its search and location."""
    for first, second in ((_draw_safety, _draw_counts), (_draw_search, _draw_location)):
        left, right = st.columns(2, gap="medium")
        with left.container(border=True, height="stretch"):
            first(memory)
        with right.container(border=True, height="stretch"):
            second(memory)


def _draw_safety(memory: MemorySystem) -> None:
    st.markdown("##### Is it safe?")
    is_needed = last_backup(memory) is None and any(record_counts(memory).values())
    _draw_backup(memory, is_needed=is_needed)
    with st.container(horizontal=True):
        st.button("Back it up", key="settings_to_backup", icon=":material/archive:", on_click=_open_backups,
                  type="primary" if is_needed else "secondary")  # fmt: skip
        st.button("Check the store", key="settings_doctor", icon=":material/stethoscope:", on_click=_examine,
                  args=(memory,))  # fmt: skip
    st.caption("A check reads the whole database, and compares the search index and all files with it.")
    _draw_checked(memory)


def _draw_location(memory: MemorySystem) -> None:
    st.markdown("##### Where it is")
    draw_facts(store_facts(memory, memory.storage.n_bytes()))


def _draw_search(memory: MemorySystem) -> None:
    st.markdown("##### How it searches")
    model = opening_model()
    draw_facts(search_facts(memory) | {"Language model": model.badge if model.client else "none, and none is needed"})


def _draw_counts(memory: MemorySystem) -> None:
    st.markdown("##### Contents")
    counts = record_counts(memory)
    draw_facts(
        {
            kind: f"{counts.get(name, 0):,}"
            for name, kind in names_of_collections(memory).items()
            if counts.get(name) or name not in RARE
        }
    )


def _draw_backup(memory: MemorySystem, *, is_needed: bool) -> None:
    """Draw when the last backup was made, or a warning that there is none of a store with records."""
    if is_needed:
        st.warning("There is no backup. If this disk fails, the store is lost.", icon=":material/warning:")
    else:
        draw_facts({"Last backup": last_backup(memory) or "none yet: the store is empty"})


def _open_backups() -> None:
    st.session_state.settings_tab = "Export and backup"


def draw_facts(facts: dict[str, str]) -> None:
    """Draw labelled facts, each on a line."""
    with st.container(gap="xsmall"):
        for name, value in facts.items():
            with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
                st.caption(name, width=NAME_PIXELS)
                st.text(value, width="stretch")


def _draw_checked(memory: MemorySystem) -> None:
    """Draw what the last check of this visit found, if there was any."""
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
