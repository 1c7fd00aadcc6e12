"""Operations as lines that read like sentences, under the day on which they were done."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from atlas import MemorySystem
from atlas.views.history.operations import OperationRow
from atlas.views.shared.texts import as_written
from atlas.views.shared.wording import shortened
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

MARK_ICONS = {"Pinned": "push_pin", "Unpinned": "push_pin", "Retired": "visibility_off", "Brought": "visibility"}
"""Icons of changes of one mark, by the first word of their sentence."""

OTHER_ICON = "history"

TIME_PIXELS, ACTOR_PIXELS = 40, 80
"""Widths of the columns of a line."""

REASON_CHARACTERS = 160
"""A longer reason is shortened in a line. The details show all of it."""


def draw_list(memory: MemorySystem, rows: Sequence[OperationRow]) -> None:
    """Draw operations as lines of columns, newest first, by day (UTC)."""
    for day, of_day in groupby(rows, key=lambda row: row.at.date()):
        with st.container(gap=None, key=f"history_day_{day:%Y%m%d}"):
            st.markdown(f"**{day:%A} {day.day} {day:%B %Y}**")
            for row in of_day:
                _draw_row(memory, row)


def _draw_row(memory: MemorySystem, row: OperationRow) -> None:
    state = "undone" if row.is_undone else "done"
    with st.container(horizontal=True, vertical_alignment="center", wrap=False, key=f"history_{state}_{row.id}"):
        mark = MARK_ICONS.get(row.sentence.split(" ", 1)[0]) if row.kind == "mark" else None
        icon = f":material/{mark or ICONS.get(row.kind, OTHER_ICON)}:"
        st.text(f"{row.at:%H:%M}", width=TIME_PIXELS)
        st.markdown(f":red[{icon}]" if row.is_final else icon, width="content")
        with st.container(horizontal=True, gap="small", width="stretch", key=f"history_line_{row.id}"):
            _draw_line(row)
        st.text(row.actor, width=ACTOR_PIXELS, wrap=False)
        st.button("Details", key=f"history_open_{row.id}", type="tertiary", icon=":material/chevron_right:",
                  help="Details", on_click=set_parameter, args=(OPERATION, row.id))  # fmt: skip
        if row.is_undo:  # the line of what it undid has the button that does it again
            st.space(UNDO_PIXELS)
        else:
            draw_undo(memory, row, key="history_list", is_main=False)


def _draw_line(row: OperationRow) -> None:
    """Draw what was done, that it was undone, how and why, and what stands in the way of undoing it."""
    _draw_sentence(row)
    if row.state:
        st.badge(row.state, color="gray")
    reason = f"“{shortened(row.reason, REASON_CHARACTERS)}”" if row.reason else ""
    for more in (" · ".join(filter(None, (row.change, reason))), "" if row.is_undo else row.blocked):
        if more:
            st.text(more)


def _draw_sentence(row: OperationRow) -> None:
    """Draw what was done. The name of a record that is in the store opens it."""
    if row.named is None:
        st.text(row.sentence)
        return
    before, after = row.sentence.split(f"“{row.named.words}”", 1)
    with st.container(horizontal=True, gap=None, width="content", key=f"history_named_{row.id}"):
        st.text(before.rstrip())
        st.page_link(f"pages/{row.named.page}.py", label=f"“{as_written(row.named.words)}”", width="content",
                     query_params={"id": row.named.id})  # fmt: skip
        if after:
            st.text(after.lstrip())
