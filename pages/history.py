"""History: the operations on the store, with diffs and undo, and the trash."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem, Operations
from atlas.views.history.operations import n_operation_pages, operation_page
from pages.components.history.filters import draw_filters, draw_undo_all
from pages.components.history.operation import operation_panel
from pages.components.history.operation_list import draw_list
from pages.components.history.trash import draw_pages, draw_trash
from pages.components.lists.empty import draw_empty
from pages.components.lists.heading import draw_heading
from pages.components.shared.live import refreshing
from pages.components.shared.snapshot import page_memory
from pages.components.shared.tabs import choose_part
from pages.frame.address import OPERATION, parameter

OPERATIONS, TRASH = "Operations", "Trash"


def draw_operations(memory: MemorySystem, wanted: Operations) -> None:
    """Draw the operations that pass the filters, paginated."""
    if not memory.count_operations():
        draw_empty(memory, "Every change is listed here, with an undo.", title="Nothing has changed in this store yet.")
        return
    page = draw_pages(n_operation_pages(memory, wanted), key="history_page")
    view = operation_page(memory, page, wanted)
    if not view.rows:
        st.info("Nothing like this was done. Change the search or the filters.", icon=":material/search_off:")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(view.caption, width="content")
        draw_undo_all(memory, wanted)
    draw_list(memory, view.rows)


memory = page_memory()
draw_heading("History", "Every change to records of this store, and who made it. All but a purge can be undone.",
             is_one_line=True)  # fmt: skip
if opened := parameter(OPERATION):
    operation_panel(memory, opened)
else:
    with st.container(horizontal=True, vertical_alignment="center", key="history_bar"):
        part = choose_part([OPERATIONS, TRASH], key="history_tab")
        has_filters = part == OPERATIONS and memory.count_operations()
        wanted = draw_filters(memory) if has_filters else Operations()
    if part == TRASH:
        draw_trash(memory)
    else:
        refreshing(memory)
        draw_operations(memory, wanted)
