"""The store as a whole: location, size and checks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType

import streamlit as st

from atlas import MemorySystem
from atlas.views.settings.copies import backup_facts, last_backup
from atlas.views.settings.doctor import Examination, examined
from atlas.views.settings.store import (
    RARE,
    disk_facts,
    names_of_collections,
    record_counts,
    search_facts,
    store_facts,
)
from pages.components.lists.editing import READ_ONLY
from pages.components.settings.changing import open_part, status_changes
from pages.components.shared.snapshot import opening_model, store_state
from pages.components.shared.undo_toast import announcing_problems

_FOUND = "settings_doctor_found"

CHECK = "Reads the whole database, and compares the search index and all files with it."

NAME_PIXELS = 136
"""Width of the names of facts."""

FINDING_COLUMNS = {
    "sign": st.column_config.TextColumn("", width=40),
    "check": st.column_config.TextColumn("Check", width=140),
    "about": st.column_config.TextColumn("What is compared", width="medium"),
    "verdict": st.column_config.TextColumn("Result", width="large"),
}


def draw_store(memory: MemorySystem) -> None:
    """Draw the status of the store: its safety first, its contents, where it is, and how it is searched."""
    counts = record_counts(memory)
    _draw_safety(memory, is_filled=any(counts.values()))
    with st.container(horizontal=True, gap="large", border=True):
        for name, kind in names_of_collections(memory).items():
            if counts.get(name) or name not in RARE:
                st.metric(kind, f"{counts.get(name, 0):,}", width="content")
    model = opening_model()
    changes = status_changes(memory, has_model=model.client is not None)
    search = {"Language model": model.badge if model.client else "none, and none is needed"} | search_facts(memory)
    for cards in (
        {"The store": store_facts(memory), "Search": search},
        {"Backups": backup_facts(memory), "Disk": disk_facts(memory, _n_free_bytes(memory))},
    ):
        for column, (title, facts) in zip(st.columns(2, gap="medium"), cards.items(), strict=True):
            with column.container(border=True, height="stretch"):
                st.markdown(f"##### {title}")
                draw_facts(facts, changes, key=title)


def _draw_safety(memory: MemorySystem, *, is_filled: bool) -> None:
    """Draw when the last backup was made, and buttons that make one and check the store."""
    made = last_backup(memory)
    is_needed = made is None and is_filled
    finding = "There is no backup. If this disk fails, the store is lost." if is_needed else f"Last backup: {made}."
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        if is_needed:
            st.subheader(f":orange[:material/warning:] {finding}", anchor=False, width="content")
        else:
            st.subheader(finding if is_filled else "The store is empty.", anchor=False, width="content")
        with st.container(horizontal=True, width="content"):
            st.button("Back it up", key="settings_to_backup", icon=":material/archive:", on_click=open_part,
                      args=("Export and backup",), type="primary" if is_needed else "secondary")  # fmt: skip
            st.button("Check the store", key="settings_doctor", icon=":material/stethoscope:", help=CHECK,
                      on_click=_examine, args=(memory,))  # fmt: skip
    _draw_checked(memory)


def _n_free_bytes(memory: MemorySystem) -> int | None:
    try:
        return shutil.disk_usage(memory.storage.path).free
    except OSError:  # it is on another machine
        return None


def draw_facts(
    facts: Mapping[str, str], changes: Mapping[str, Callable[[], None]] = MappingProxyType({}), *, key: str
) -> None:
    """Draw labelled facts, each on a line, with the way to change it at the end."""
    with st.container(gap=None, key=f"ruled_{key}"):
        for name, value in facts.items():
            with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
                st.caption(name, width=NAME_PIXELS)
                st.text(value, width="stretch")
                if name in changes:
                    changes[name]()


def _draw_checked(memory: MemorySystem) -> None:
    """Draw what the last check of this visit found, if there was any."""
    report = st.session_state.get(_FOUND)
    if report is None:
        return
    state, found = report
    if state != store_state(memory):
        st.caption("The store has changed since it was checked.")
    _draw_found(memory, found)


def _draw_found(memory: MemorySystem, examination: Examination) -> None:
    (st.warning if examination.n_left else st.success)(examination.sentence)
    rows = [{"sign": "✓" if row.is_ok else "✗", **asdict(row)} for row in examination.rows]
    st.dataframe(rows, column_config=FINDING_COLUMNS, column_order=list(FINDING_COLUMNS), hide_index=True,
                 alt="What each check found")  # fmt: skip
    if examination.n_left:
        disabled = memory.storage.read_only
        st.button("Repair what can be repaired", key="settings_doctor_fix", type="primary", disabled=disabled,
                  on_click=_examine, args=(memory,), kwargs={"fix": True},
                  help=READ_ONLY if disabled else "Rebuilds derived parts from the database.")  # fmt: skip


def _examine(memory: MemorySystem, *, fix: bool = False) -> None:
    with announcing_problems(), st.spinner("Checking the store …", show_time=True):
        found = examined(memory, fix=fix)
        st.session_state[_FOUND] = store_state(memory), found
