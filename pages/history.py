"""History: what was done to the store, with its differences and an undo; and what was deleted."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.history import n_operation_pages, n_trash_pages, operation_page, trash_page
from atlas.views.state import store_state
from atlas.views.wording import counted
from pages.components.acts import announce, announcing_problems
from pages.components.editing import READ_ONLY
from pages.components.live import refreshing
from pages.components.memory import page_memory
from pages.components.operation import OPENED, OPERATION_COLUMNS, TIME, operation_panel
from pages.components.scope import URL
from pages.components.tables import clicked_row

OPERATIONS, TRASH = "Operations", "Trash"
TRASH_COLUMNS = {
    "outcome": st.column_config.TextColumn("Outcome", width=110),
    "task": st.column_config.TextColumn("Task", width="large"),
    "deleted_at": TIME("Deleted (UTC)"),
    "actor": st.column_config.TextColumn("Who", width=100),
    "reason": st.column_config.TextColumn("Why", width=200),
}


def draw_operations(memory: MemorySystem) -> None:
    """Every operation, a page at a time; a click opens one."""
    state = hash(store_state(memory))  # before the rows are read: a write meanwhile gives another table, not other rows
    page = draw_pages(n_operation_pages(memory), key="history_page")
    view = operation_page(memory, page)
    st.caption(f"{view.caption}. Click one to see what it changed." if view.rows else "Nothing was done here yet.")
    if not view.rows:
        return
    ids = tuple(row.id for row in view.rows)
    key = f"history_operations_{page}_{state}_{st.query_params.get(OPENED, '')[:8]}"
    st.dataframe(
        [asdict(row) for row in view.rows],
        column_order=list(OPERATION_COLUMNS),
        column_config=OPERATION_COLUMNS,
        hide_index=True,
        key=key,
        on_select=partial(open_selected, ids, key),
        selection_mode=["single-row", "single-cell"],
    )


def open_selected(ids: tuple[str, ...], key: str) -> None:
    """Open the operation that was clicked, by the ids that the clicked table showed."""
    row = clicked_row(key, len(ids))
    if row is not None:
        st.query_params[OPENED] = ids[row]


def draw_trash(memory: MemorySystem) -> None:
    """What was deleted, with the offer to restore it."""
    state = hash(store_state(memory))  # before the rows are read, as above
    page = draw_pages(n_trash_pages(memory), key="history_trash_page")
    view = trash_page(memory, page)
    st.caption(view.caption)
    if not view.rows:
        return
    table = st.dataframe(
        [asdict(row) for row in view.rows],
        column_order=list(TRASH_COLUMNS),
        column_config=TRASH_COLUMNS,
        hide_index=True,
        key=f"history_trash_{page}_{state}",
        on_select="rerun",
        selection_mode="multi-row",
    )
    ids = tuple(view.rows[row].id for row in table["selection"]["rows"])
    st.button(
        f"Restore {counted(len(ids), 'experience')}" if ids else "Restore the chosen ones",
        key="history_restore",
        icon=":material/restore_from_trash:",
        disabled=not ids or memory.storage.read_only,
        help=READ_ONLY if memory.storage.read_only else None,
        on_click=restore,
        args=(memory, ids),
    )


def restore(memory: MemorySystem, ids: tuple[str, ...]) -> None:
    """Take experiences back from the trash, as one operation."""
    scoped = memory.experience.within("restore", "from the trash")
    with announcing_problems():
        n_restored = scoped.restore(ids)
        announce(str(scoped.operation_id), f"Restored {counted(n_restored, 'experience')}")


def draw_pages(n_pages: int, *, key: str) -> int:
    """The page that is chosen."""
    return st.pagination(n_pages, key=key, bind=URL) if n_pages > 1 else 1


memory = page_memory()
st.title("History", anchor=False)
if opened := st.query_params.get(OPENED):
    operation_panel(memory, opened)
else:
    which = st.segmented_control(
        "Show",
        [OPERATIONS, TRASH],
        default=OPERATIONS,
        required=True,
        key="history_tab",
        bind=URL,
        label_visibility="collapsed",
    )
    if which == TRASH:
        draw_trash(memory)
    else:
        refreshing(memory)
        draw_operations(memory)
