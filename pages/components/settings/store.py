"""The store as a whole: location, size and checks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.curate.queues import LiveDuplicates
from atlas.views.settings.activity import agent_facts, backup_facts, connecting_lines, record_facts, work_facts
from atlas.views.settings.copies import last_backup
from atlas.views.settings.doctor import Examination, examined
from atlas.views.settings.roles import may_administer
from atlas.views.settings.store import record_counts, search_facts, store_facts
from atlas.views.shared.results import LiveResult
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import moment
from pages.components.lists.editing import READ_ONLY
from pages.components.settings.changing import open_part, status_changes
from pages.components.settings.copies import WARNING, back_up_beside, draw_download, existing_backup, is_on_same_disk
from pages.components.shared.commands import atlas_command, server_address
from pages.components.shared.jobs import live_result
from pages.components.shared.memory_map import live_map
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
    """Draw the status of the store: its safety first, where it is, and how it is searched."""
    _draw_safety(memory, is_filled=any(record_counts(memory).values()))
    model = opening_model()
    changes = status_changes(memory, has_model=model.client is not None)
    search = {"Language model": model.badge if model.client else "none, and none is needed"} | search_facts(memory)
    state = store_state(memory)
    _draw_cards({"The store": store_facts(memory, _n_free_bytes(memory)), "Search": search}, changes)
    with _halves("work"):
        for column, draw in zip(st.columns(2, gap="medium"), (_draw_work, _draw_connecting), strict=True):
            with column.container(border=True, height="stretch"):
                draw(memory)
    agents = _agents(state, _memory=memory) or {"None yet": "No attempt names its agent."}
    _draw_cards({"Records": _records(state, _memory=memory) or {"None yet": "The store is empty."},
                 "Agents that wrote last (UTC)": agents})  # fmt: skip


def _draw_cards(
    cards: Mapping[str, Mapping[str, str]], changes: Mapping[str, Callable[[], None]] = MappingProxyType({})
) -> None:
    """Draw two groups of facts side by side."""
    with _halves("_".join(cards).lower().replace(" ", "_")):
        for column, (title, facts) in zip(st.columns(2, gap="medium"), cards.items(), strict=True):
            with column.container(border=True, height="stretch"):
                st.markdown(f"##### {title}")
                draw_facts(facts, changes, key=title)


def _halves(key: str) -> DeltaGenerator:
    return st.container(key=f"halves_settings_{key}")


def _draw_work(memory: MemorySystem) -> None:
    """Draw when the store was last backed up and checked, and what background work did last."""
    st.markdown("##### Backup, check and background work")
    results: dict[str, LiveResult[Any]] = {
        "Map made": live_map(memory),
        "Near-duplicates": live_result(memory, LiveDuplicates),
    }
    state = store_state(memory)
    checked = {"Last check": _last_check(state.path, state.ledger_id).get("text", "none since the dashboard started")}
    draw_facts(backup_facts(memory) | checked | work_facts(results), key="work")


def _draw_connecting(memory: MemorySystem) -> None:
    """Draw the lines that connect an agent to this store."""
    st.markdown("##### Connect an agent")
    for name, line in connecting_lines(memory, atlas_command(), server_address()).items():
        st.caption(name)
        st.code(line, language=None, wrap_lines=True)


def _draw_safety(memory: MemorySystem, *, is_filled: bool) -> None:
    """Draw when the last backup was made, and buttons that make or download one and check the store."""
    made, backup = last_backup(memory), existing_backup(memory)
    if is_filled and made is None:
        finding = ":orange[:material/warning:] There is no backup. If this disk fails, the store is lost."
    else:
        finding = f"Last backup: {made}." if is_filled else "The store is empty."
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader(finding, anchor=False, width="content")
        with st.container(horizontal=True, width="content"):
            _draw_next(memory, is_filled=is_filled, has_backup=made is not None)
            st.button("Check the store", key="settings_doctor", icon=":material/stethoscope:", help=CHECK,
                      on_click=_examine, args=(memory,))  # fmt: skip
    if is_filled and backup is not None and is_on_same_disk(memory, backup):
        st.caption(WARNING)
    _draw_checked(memory)


def _draw_next(memory: MemorySystem, *, is_filled: bool, has_backup: bool) -> None:
    """Draw the button that fills an empty store, or those that make and download a backup."""
    if not is_filled:
        st.button("Import", key="settings_to_import", icon=":material/upload:", type="primary", on_click=open_part,
                  args=("Import",))  # fmt: skip
    elif may_administer():
        st.button("Back it up", key="settings_back_up", icon=":material/archive:", on_click=back_up_beside,
                  args=(memory,), type="secondary" if has_backup else "primary")  # fmt: skip
        draw_download(memory, key="settings_download")


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
        state = store_state(memory)
        _last_check(state.path, state.ledger_id)["text"] = f"{moment(datetime.now(UTC))}: {found.sentence}"
        st.session_state[_FOUND] = state, found


@st.cache_resource(show_spinner=False, max_entries=32)
def _last_check(path: str, ledger_id: str) -> dict[str, str]:
    """Return the result of the last check of a store in this process, which is kept in the dictionary."""
    return {}


@st.cache_data(max_entries=8, show_spinner=False)
def _records(state: StoreState, *, _memory: MemorySystem) -> dict[str, str]:
    return record_facts(_memory)


@st.cache_data(max_entries=8, show_spinner=False)
def _agents(state: StoreState, *, _memory: MemorySystem) -> dict[str, str]:
    return agent_facts(_memory)
