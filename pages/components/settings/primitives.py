"""Libraries of primitives: preview, loading and updating."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.concepts.primitives import (
    NEW,
    NEWER,
    PrimitiveRow,
    load_primitives,
    loader_names,
    loader_title,
    primitive_rows,
    update_primitives,
)
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import counted
from pages.components.concepts.loaders import load
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.snapshot import store_state

COLUMNS = {
    "state": st.column_config.TextColumn("State", width=140),
    "name": st.column_config.TextColumn("Name", width=180),
    "signature": st.column_config.TextColumn("Signature", width="medium"),
    "description": st.column_config.TextColumn("What it does", width="large"),
}


def draw_primitives(memory: MemorySystem) -> None:
    """Draw the preview of a library of primitives, and the buttons that load it."""
    st.caption(
        "Functions that an agent can start with, by domain. They become concepts of this store, with examples. Adding "
        "them can be undone."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Library", loader_names(), format_func=loader_title, key="settings_primitives", width=260)
        if name is None:
            st.info("No library of functions is installed.", icon=":material/inbox:")
            return
        rows = _rows(store_state(memory), name, _memory=memory)
        _draw_buttons(memory, name, rows)
    has_states = any(row.state != NEW for row in rows)
    st.dataframe([asdict(row) for row in rows], column_config=COLUMNS if has_states else {**COLUMNS, "state": None},
                 hide_index=True, alt="Functions of the library")  # fmt: skip


def _draw_buttons(memory: MemorySystem, name: str, rows: tuple[PrimitiveRow, ...]) -> None:
    disabled = memory.storage.read_only
    n_new, n_newer = (sum(row.state == state for row in rows) for state in (NEW, NEWER))
    if n_new:
        st.button(
            f"Add {counted(n_new, 'function')}",
            key="settings_primitives_load",
            type="primary",
            icon=":material/download:",
            disabled=disabled,
            on_click=load,
            args=(memory, name, load_primitives),
            help=READ_ONLY if disabled else "Adds the new ones. It can be undone.",
        )
    if n_newer:
        st.button(
            f"Update {counted(n_newer, 'function')}",
            key="settings_primitives_update",
            icon=":material/upgrade:",
            disabled=disabled,
            on_click=load,
            args=(memory, name, update_primitives),
            help=READ_ONLY if disabled else "Edited functions are left alone. It can be undone.",
        )
    if not n_new and not n_newer:
        st.text("The store has all of them.")


@st.cache_data(max_entries=8, show_spinner=False)
def _rows(state: StoreState, name: str, *, _memory: MemorySystem) -> tuple[PrimitiveRow, ...]:
    return primitive_rows(_memory, name)
