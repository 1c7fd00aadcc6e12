"""Detail of an operation: actor, reason, changes and undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Literal

import streamlit as st

from atlas import MemorySystem
from atlas.views.history.operations import (
    FieldChange,
    OperationRow,
    RecordDiff,
    change_rows,
    change_word,
    operation_detail,
    operation_diffs,
)
from atlas.views.kinds.titles import task_title
from atlas.views.shared.texts import Text, as_written
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.texts import draw_code, draw_prose
from pages.components.shared.undo_toast import REDONE, UNDONE, undo_and_announce
from pages.frame.address import OPERATION, set_parameter

TIME = partial(st.column_config.DatetimeColumn, format="D MMM YYYY, HH:mm:ss", timezone="UTC", width=160)
CHANGE_COLUMNS = {
    "change": st.column_config.TextColumn("Change", width=80),
    "title": st.column_config.TextColumn("Record", width=300),
    "field": st.column_config.TextColumn("Field", width=120),
    "difference": st.column_config.TextColumn("What differs", width="large"),
}

UNDO_PIXELS = 210
"""Width of the undo button in a list, so that what stands beside it is aligned."""

SIGNS = {"added": ":material/add:", "removed": ":material/delete:", "purged": ":material/delete_forever:"}
COLOURS: Mapping[str, Literal["green", "orange"]] = {"added": "green", "removed": "orange"}


def operation_panel(memory: MemorySystem, operation_id: str) -> None:
    """Draw an operation, its changes, and the undo button."""
    st.button("All operations", key="history_back", icon=":material/arrow_back:", on_click=_close)
    detail = operation_detail(memory, operation_id)
    if detail is None:
        st.warning("There is no such operation in this store.", icon=":material/search_off:")
        return
    st.subheader(as_written(detail.row.sentence), anchor=False)
    with st.container(horizontal=True, gap="medium"):
        for name, value in detail.facts:
            with st.container(width="content", gap=None):
                st.caption(name)
                st.text(value)
    draw_undo(memory, detail.row, key="history_undo")
    if detail.row.blocked:
        st.text(f"{detail.row.blocked}. {detail.row.blocked_by}")
    page = 1
    if detail.n_pages > 1:
        page = st.pagination(detail.n_pages, key=f"history_changes_{detail.row.id}")
    _draw_changes(operation_diffs(memory, operation_id, page), key=f"{detail.row.id}_{page}")


def draw_undo(memory: MemorySystem, row: OperationRow, *, key: str, is_main: bool = True) -> None:
    """Draw the button that takes an operation back, or does it again."""
    if row.is_final:
        st.badge("Cannot be undone", icon=":material/lock:", color="red", width="content" if is_main else UNDO_PIXELS)
        return
    why_not = READ_ONLY if memory.storage.read_only else row.blocked or None
    st.button(
        f":red[{row.undo_label}]" if row.undo_deletes_many and why_not is None else row.undo_label,
        key=f"{key}_{row.undo_id}",  # a button that was clicked already has no effect
        icon=f":material/{'redo' if row.is_undone else 'undo'}:",
        type=_button_type(row, is_main=is_main),
        width="content" if is_main else UNDO_PIXELS,
        disabled=why_not is not None,
        help=why_not or row.undo_sentence or None,
        on_click=undo_and_announce,
        args=(memory, row.undo_id, row.sentence, REDONE if row.is_undone else UNDONE),
    )


def _button_type(row: OperationRow, *, is_main: bool) -> Literal["primary", "secondary", "tertiary"]:
    if not is_main:
        return "tertiary"
    return "secondary" if row.undo_deletes_many else "primary"  # red words cannot be read on the main colour


def _draw_changes(diffs: Sequence[RecordDiff], *, key: str) -> None:
    """Draw the changed record in full, before and after, or several in one table and below it the selected one."""
    if len(diffs) == 1:
        _draw_diff(diffs[0], key=f"history_diff_{key}")
        return
    rows = change_rows(diffs)
    if not rows:
        return
    st.caption("Tick a row to see the whole record before and after.")
    table = st.dataframe(
        [asdict(row) for row in rows],
        column_config=CHANGE_COLUMNS,
        column_order=[name for name in CHANGE_COLUMNS if any(getattr(row, name) for row in rows)],
        hide_index=True,
        key=f"history_table_{key}",
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [0]}},
        alt="What it changed",
    )
    chosen = [rows[row].record_id for row in table["selection"]["rows"] if row < len(rows)]
    for diff in (diff for diff in diffs if diff.record_id in chosen):
        _draw_diff(diff, key=f"history_diff_{key}_{diff.record_id}")


def _draw_diff(diff: RecordDiff, *, key: str) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(
                change_word(diff.kind),
                icon=SIGNS.get(diff.kind, ":material/edit:"),
                color=COLOURS.get(diff.kind, "blue"),
            )
            with st.container(width="stretch"):
                draw_prose(Text(task_title(diff.title).title), key=f"{key}_title")
            if diff.is_there:
                st.page_link(f"pages/{diff.page}.py", label="Open", icon=":material/open_in_new:", width="content",
                             query_params={"id": diff.record_id})  # fmt: skip
        for number, field in enumerate(diff.fields):
            _draw_field(field, key=f"{key}_{number}")


def _draw_field(field: FieldChange, *, key: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption("Field", width="content")
        st.text(field.name)
    before, after = st.columns(2)
    for column, word, text in ((before, "Before", field.before), (after, "After", field.after)):
        with column:
            st.caption(word)
            if text is None:
                st.caption("nothing")
            else:
                draw_code(text, key=f"{key}_{word}")


def _close() -> None:
    set_parameter(OPERATION, None)
