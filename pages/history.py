"""History: the operations on the store, with diffs and undo, and the trash."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.history.operations import n_operation_pages, operation_page
from pages.components.history.filters import draw_filters
from pages.components.history.operation import OPERATION_COLUMNS, operation_panel
from pages.components.history.trash import draw_pages, draw_trash
from pages.components.lists.empty import draw_empty
from pages.components.lists.heading import draw_heading
from pages.components.lists.record_table import clicked_row
from pages.components.shared.live import refreshing
from pages.components.shared.snapshot import page_memory, store_state
from pages.components.shared.tabs import choose_part
from pages.frame.address import OPERATION, parameter, set_parameter

OPERATIONS, TRASH = "Operations", "Trash"


def draw_operations(memory: MemorySystem) -> None:
    """Draw the operations, paginated. A click opens one."""
    # taken before the rows are read, so that a concurrent write changes the table's key
    state = hash(store_state(memory))
    if not memory.count_operations():
        draw_empty(memory, "Every change is listed here, with an undo.", title="Nothing has changed in this store yet.")
        return
    wanted = draw_filters(memory)
    page = draw_pages(n_operation_pages(memory, wanted), key="history_page")
    view = operation_page(memory, page, wanted)
    if not view.rows:
        st.info("Nothing was done by this one, or since this time.", icon=":material/search_off:")
        return
    st.caption(f"{view.caption}. Click one to see what it changed.")
    ids = tuple(row.id for row in view.rows)
    key = f"history_operations_{page}_{state}_{(parameter(OPERATION) or '')[:8]}"
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
    """Open the clicked operation, given the ids that the table showed."""
    row = clicked_row(key, len(ids))
    if row is not None:
        set_parameter(OPERATION, ids[row])


memory = page_memory()
draw_heading("History", "Every change to records of this store, and who made it. All but a purge can be undone.")
if opened := parameter(OPERATION):
    operation_panel(memory, opened)
else:
    if choose_part([OPERATIONS, TRASH], key="history_tab") == TRASH:
        draw_trash(memory)
    else:
        refreshing(memory)
        draw_operations(memory)
