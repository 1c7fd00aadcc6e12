"""Operations as lines that read like sentences, under the day on which they were done."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from atlas import MemorySystem
from atlas.views.history.operations import OperationRow
from pages.components.history.operation import UNDO_PIXELS, draw_undo
from pages.frame.address import OPERATION, set_parameter

ICONS = {
    "store": "add",
    "import": "download",
    "edit": "edit",
    "delete": "delete",
    "forget": "delete",
    "prune": "delete_sweep",
    "merge": "merge",
    "refine": "auto_fix_high",
    "mark": "sell",
    "quarantine": "shield",
    "outcome": "fact_check",
    "restore": "restore_from_trash",
    "undo": "undo",
    "purge": "delete_forever",
    "compress": "functions",
    "strictness": "tune",
}
"""Icons of the kinds of operations."""

OTHER_ICON = "history"


def draw_list(memory: MemorySystem, rows: Sequence[OperationRow]) -> None:
    """Draw operations, newest first, by day (UTC)."""
    for day, of_day in groupby(rows, key=lambda row: row.at.date()):
        st.markdown(f"**{day:%A} {day.day} {day:%B %Y}**")
        with st.container(border=True, gap=None, key=f"history_day_{day:%Y%m%d}"):
            for row in of_day:
                _draw_row(memory, row)


def _draw_row(memory: MemorySystem, row: OperationRow) -> None:
    state = "undone" if row.state else "done"
    with st.container(horizontal=True, vertical_alignment="center", key=f"history_{state}_{row.id}"):
        is_pin = row.sentence.startswith(("Pinned ", "Unpinned "))
        st.markdown(f":material/{'push_pin' if is_pin else ICONS.get(row.kind, OTHER_ICON)}:", width="content")
        with st.container(gap=None, width="stretch", key=f"history_line_{row.id}"):
            st.text(row.sentence)
            undoing = "" if row.is_undo or memory.storage.read_only else row.undo_sentence
            st.text(" · ".join(filter(None, (f"{row.at:%H:%M}", row.actor, row.reason, row.state, undoing))))
            if row.change:
                st.text(row.change)
        st.button("Details", key=f"history_open_{row.id}", on_click=set_parameter, args=(OPERATION, row.id))
        if row.is_undo:  # the line of what it undid has the button that does it again
            st.space(UNDO_PIXELS)
        else:
            draw_undo(memory, row, key="history_list", is_main=False)
