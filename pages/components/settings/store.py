"""The store as a whole: location, size and checks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType

import streamlit as st

from atlas import MemorySystem
from atlas.views.kinds.columns import Column
from atlas.views.lists.rate_rows import RATE_COLUMNS
from atlas.views.settings.activity import (
    NEXT,
    AgentRow,
    agent_rows,
    agents_title,
    connecting_lines,
    count_agents,
    records_sentence,
    work_facts,
)
from atlas.views.settings.doctor import Examination, examined
from atlas.views.settings.headline import Headline, store_headline
from atlas.views.settings.roles import may_administer, may_repair
from atlas.views.settings.store import search_facts, store_facts
from atlas.views.shared.scope import scope_with
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import utc_time_text
from pages.components.curate.duplicates import live_duplicates
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.record_table import plain_table
from pages.components.settings.changing import open_part, status_changes
from pages.components.settings.copies import WARNING, back_up_beside, draw_download, existing_backup, is_on_same_disk
from pages.components.shared.commands import atlas_command, server_address
from pages.components.shared.memory_map import live_map
from pages.components.shared.narrowing import go_from_click, narrow_to
from pages.components.shared.snapshot import opening_model, store_state
from pages.components.shared.undo_toast import announcing_problems

_FOUND = "settings_doctor_found"

CONNECT = "Connect an agent"

CHECK = "Reads the whole database, and compares the search index and all files with it."

WELL, WARN = ":green[:material/check_circle:] ", ":orange[:material/warning:] "
"""Signs before the headline."""

NAME_PIXELS = 150
"""Width of the names of facts."""

AGENT_COLUMNS = (
    Column("name", "Agent", 300),
    Column("n_attempts", "Attempts", 74, "number"),
    *RATE_COLUMNS,
    Column("last_at", "Last attempt (UTC)", 135, "time"),
)

FINDING_COLUMNS = {
    "sign": st.column_config.TextColumn("", width=40),
    "check": st.column_config.TextColumn("Check", width=140),
    "about": st.column_config.TextColumn("What is compared", width="medium"),
    "verdict": st.column_config.TextColumn("Result", width="large"),
}


def draw_store(memory: MemorySystem) -> None:
    """Draw the state of the store and what to do next, its facts, which agents wrote last, and how to connect one."""
    _draw_headline(memory)
    _draw_checked(memory)
    links = status_changes(memory, has_model=opening_model().client is not None)
    changes: dict[str, Callable[[], None]] = {**links, "Last check": partial(_draw_check, memory)}
    facts = {"The store": _store_facts(memory), "Search and background work": _work_facts(memory)}
    with st.container(key="halves_settings"):
        for column, (title, each) in zip(st.columns(2, gap="medium"), facts.items(), strict=True):
            with column.container(gap="xsmall"):
                st.markdown(f"##### {title}")
                draw_facts(each, changes, key=title)
    _draw_agents(memory)


def _store_facts(memory: MemorySystem) -> dict[str, str]:
    state = store_state(memory)
    last_check = _last_check(state.path, state.ledger_id).get("text", "not made yet")
    return store_facts(memory, _n_free_bytes(memory)) | {"Last check": last_check}


def _work_facts(memory: MemorySystem) -> dict[str, str]:
    model = opening_model()
    language_model = {"Language model": model.badge if model.client else "off (it would write names and summaries)"}
    return language_model | search_facts(memory) | work_facts(live_map(memory), live_duplicates(memory))


def _draw_agents(memory: MemorySystem) -> None:
    """Draw the agents that wrote last, of which a click lists the attempts, and how to connect one."""
    rows, n_agents = _agents(store_state(memory), _memory=memory)
    if rows:
        st.markdown(f"##### {agents_title(len(rows), n_agents)}")
        plain_table(rows, columns=AGENT_COLUMNS, key="settings_agents", label="Agents", on_opened=_list_attempts)
    with st.expander(CONNECT, expanded=not rows, key="settings_connect"):
        _draw_connecting(memory)


def _draw_connecting(memory: MemorySystem) -> None:
    """Draw the lines that connect an agent to this store, with buttons that copy them."""
    st.caption(NEXT)
    lines = connecting_lines(memory, atlas_command(), server_address())
    for column, (name, line) in zip(st.columns(2, gap="medium"), lines.items(), strict=True):
        with column.container(gap="xsmall"):
            st.caption(name)
            st.code(line, language=None, wrap_lines=True)


def _list_attempts(agent: str) -> None:
    """Open the attempts of an agent. Callback of the table."""
    narrow_to(scope_with(agents=(agent,)))
    go_from_click("pages/experiences.py")


def _draw_headline(memory: MemorySystem) -> None:
    """Draw the state of the store, with buttons for what is to be done."""
    state, examination = st.session_state.get(_FOUND) or (None, None)
    n_problems = examination.n_left if examination is not None and state == store_state(memory) else 0
    headline = store_headline(memory, datetime.now(UTC), n_problems)
    sign = WELL if headline.is_well else WARN if headline.next_step in ("repair", "back up") else ""
    backup = existing_backup(memory)
    is_unsafe = headline.is_filled and backup is not None and is_on_same_disk(memory, backup)
    with st.container(gap="xxsmall"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.subheader(f"{sign}{headline.sentence}", anchor=False, width="content")
            with st.container(horizontal=True, width="content"):
                _draw_next(memory, headline)
        for caption in filter(None, [_records(store_state(memory), _memory=memory), WARNING if is_unsafe else ""]):
            st.caption(caption)


def _draw_next(memory: MemorySystem, headline: Headline) -> None:
    """Draw the button that fills an empty store, or those that make and download a backup."""
    if headline.next_step == "import":
        st.button("Import", key="settings_to_import", icon=":material/upload:", type="primary", on_click=open_part,
                  args=("Import",))  # fmt: skip
    elif headline.is_filled and may_administer():
        st.button("Back up", key="settings_back_up", icon=":material/archive:", on_click=back_up_beside,
                  args=(memory,), type="primary" if headline.next_step == "back up" else "secondary")  # fmt: skip
        draw_download(memory, key="settings_download")


def _draw_check(memory: MemorySystem) -> None:
    """Draw the link that checks the store."""
    st.button("Check", key="settings_doctor", type="tertiary", help=CHECK, on_click=_examine, args=(memory,))


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
    if examination.n_left and may_repair():
        disabled = memory.storage.read_only
        st.button("Repair what can be repaired", key="settings_doctor_fix", type="primary", disabled=disabled,
                  on_click=_examine, args=(memory,), kwargs={"fix": True},
                  help=READ_ONLY if disabled else "Rebuilds derived parts from the database.")  # fmt: skip


def _examine(memory: MemorySystem, *, fix: bool = False) -> None:
    with announcing_problems(), st.spinner("Checking the store …", show_time=True):
        found = examined(memory, fix=fix)
        state = store_state(memory)
        _last_check(state.path, state.ledger_id)["text"] = f"{utc_time_text(datetime.now(UTC))}: {found.sentence}"
        st.session_state[_FOUND] = state, found


@st.cache_resource(show_spinner=False, max_entries=32)
def _last_check(path: str, ledger_id: str) -> dict[str, str]:
    """Return the result of the last check of a store in this process, which is kept in the dictionary."""
    return {}


@st.cache_data(max_entries=8, show_spinner=False)
def _records(state: StoreState, *, _memory: MemorySystem) -> str:
    return records_sentence(_memory)


@st.cache_data(max_entries=8, show_spinner=False)
def _agents(state: StoreState, *, _memory: MemorySystem) -> tuple[tuple[AgentRow, ...], int]:
    return agent_rows(_memory), count_agents(_memory)
