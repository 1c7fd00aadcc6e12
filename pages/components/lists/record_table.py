"""Tables of memories with rows to open and select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import streamlit as st

from atlas.views.kinds.columns import Column, Columns
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.lists.fitting import fitted
from atlas.views.lists.queries import PAGE_ROWS, Row
from pages.components.lists.selection import current_selection, select
from pages.frame.address import OPENED, parameter, set_parameter

HEADER_PIXELS, ROW_PIXELS, PADDING_PIXELS = 35, 35, 16
WRAPPED_ROW_PIXELS = 66
"""Height of a row with several lines of text. Streamlit wraps cell text from 65 pixels on."""

OUTCOME_COLOURS = {"✓": "green", "✗": "red", "?": "gray"}
"""Colours of outcomes, by their signs."""


def experience_table(rows: Sequence[Row], *, columns: Columns, key: str, kind: Kind = EXPERIENCE) -> None:
    """Draw a table whose rows open their records.

    Args:
        key: Must change whenever the rows do: a selection is kept by position.
    """
    ids = tuple(row.id for row in rows)
    key = f"{key}_{st.session_state.get(_CLICKS, 0)}"
    on_select = partial(open_clicked, ids, key)
    st.dataframe(
        **_content(rows, columns, kind), key=key, on_select=on_select, selection_mode=["single-row", "single-cell"]
    )


def selectable_table(
    rows: Sequence[Row],
    *,
    columns: Columns,
    key: str,
    origin: str,
    revision: int,
    kind: Kind = EXPERIENCE,
) -> None:
    """Draw `experience_table` with checkboxes for the selection that all pages share.

    Args:
        origin: Name of this table in the tray's sentence on a selection.
        revision: Revision of the store at which the rows were read.
    """
    ids = tuple(row.ids for row in rows)
    chosen = {*current_selection(kind).ids}
    wanted = [position for position, of_row in enumerate(ids) if chosen.issuperset(of_row)]
    key, initial = _fresh(f"{key}_{st.session_state.get(_CLICKS, 0)}", wanted)
    st.dataframe(
        **_content(rows, columns, kind),
        key=key,
        on_select=partial(_take_selected, rows, key, origin, revision, kind),
        selection_mode=["multi-row", "single-cell"],
        selection_default={"selection": {"rows": initial}},
    )


def origin_of(kind: Kind) -> str:
    """Return the tray's label for a selection made in a kind's list."""
    return f"rows on {kind.page.capitalize()}"


def table_height(n: int, max_rows: int = 10, row_pixels: int = ROW_PIXELS) -> int:
    """Return the height in pixels of a table of `n` rows that shows at most `max_rows` full rows."""
    return HEADER_PIXELS + row_pixels * min(n, max_rows) + 3


def clicked_row(key: str, n: int) -> int | None:
    """Return the index of the clicked row of a table with `n` rows, or None.

    Args:
        key: Key of a table with single-row or single-cell selection.
    """
    selection = st.session_state[key]["selection"]
    rows = [*selection.get("rows", ()), *(row for row, _ in selection.get("cells", ()))]
    return next((row for row in rows if row < n), None)


def open_clicked(ids: tuple[str, ...], key: str) -> None:
    """Open the clicked record, given the ids that the table showed. Callback of a table."""
    row = clicked_row(key, len(ids))
    if row is not None:
        open_experience(ids[row])


def opened_id() -> str | None:
    """Return the id of the open record, or None."""
    return parameter(OPENED)


def open_experience(record_id: str) -> None:
    """Open a record beside the list. Callback on the page of its kind."""
    set_parameter(OPENED, record_id)


def close_opened() -> None:
    """Close the open record."""
    set_parameter(OPENED, None)
    st.session_state[_CLICKS] = st.session_state.get(_CLICKS, 0) + 1  # a new table without a selected cell


_CLICKS, _FRESH = "experience_tables_drawn", "experience_tables_fresh"
_AT_FIRST, _CELL = "experience_tables_at_first", "experience_tables_cell"


def _content(rows: Sequence[Row], columns: Columns, kind: Kind) -> dict[str, Any]:
    visible = [column for column in columns if not column.is_optional or _has_value(rows, column)]
    return {
        "data": [asdict(row) | _fitted(row, visible) for row in rows],
        "column_order": [column.name for column in visible],
        "column_config": {column.name: _config(column, rows) for column in visible},
        "hide_index": True,
        "row_height": ROW_PIXELS,
        "height": table_height(len(rows), PAGE_ROWS),
        "alt": kind.page.capitalize(),
    }


def _fitted(row: Row, visible: Columns) -> dict[str, str]:
    """Return the texts of a row, cut to fit their cells."""
    return {
        column.name: fitted(getattr(row, column.name) or "", column.width - PADDING_PIXELS)
        for column in visible
        if column.form == "text"
    }


def _config(column: Column, rows: Sequence[Row]) -> Any:
    """Return Streamlit's configuration of a column."""
    shared: dict[str, Any] = {"label": column.title, "width": column.width, "help": column.help_text}
    columns = st.column_config
    match column.form:
        case "text":
            return columns.TextColumn(**shared)
        case "number":
            return columns.NumberColumn(format="localized", **shared)
        case "decimal":
            return columns.NumberColumn(format="%.2f", **shared)
        case "share":
            return columns.ProgressColumn(format="%.2f", min_value=0, max_value=1, **shared)
        case "time":
            return columns.DatetimeColumn(format="YYYY-MM-DD HH:mm", timezone="UTC", **shared)
        case "picture":
            return columns.ImageColumn(**shared)
        case "outcomes":
            labels = sorted({label for row in rows for label in getattr(row, column.name)})
            colours = [OUTCOME_COLOURS[label[0]] for label in labels]
            return columns.MultiselectColumn(options=labels, color=colours, **shared)


def _has_value(rows: Sequence[Row], column: Column) -> bool:
    return any(getattr(row, column.name, None) not in (None, "", ()) for row in rows)


def _fresh(key: str, wanted: list[int]) -> tuple[str, list[int]]:
    """Return the key of a table whose checkboxes show the selection, and its initially selected rows.

    If the selection was changed elsewhere, the key changes. Otherwise the table's definition must not change, or the
    browser would recreate it while the user clicks.
    """
    number, first_state = st.session_state.get(_FRESH, 0), st.session_state.get(_AT_FIRST)
    state = st.session_state.get(f"{key}_{number}")
    if state is not None and sorted(state["selection"]["rows"]) != wanted:
        st.session_state[_FRESH] = number = number + 1
    key = f"{key}_{number}"
    if first_state is None or first_state[0] != key:
        st.session_state[_AT_FIRST] = first_state = (key, wanted)
    return key, first_state[1]


def _take_selected(rows: Sequence[Row], key: str, origin: str, revision: int, kind: Kind) -> None:
    """Select the records of the ticked rows, as the table showed them.

    Records on other pages stay selected, and so do partly selected groups without a tick.
    """
    if st.session_state[_AT_FIRST][0] != key:  # a late event of a replaced table, whose rows may be outdated
        return
    selection, now = st.session_state[key]["selection"], current_selection(kind)
    before, places = {*now.ids}, {*selection["rows"]}
    ticked = [record_id for place, row in enumerate(rows) if place in places for record_id in row.ids]
    unticked = {
        record_id
        for place, row in enumerate(rows)
        if place not in places and before.issuperset(row.ids)
        for record_id in row.ids
    }
    chosen = [*(record_id for record_id in now.ids if record_id not in unticked), *ticked]
    if {*chosen} != before:  # compared as sets, as a click without a change is ignored
        select(chosen, origin=origin, revision=revision, kind=kind)
    cells = selection["cells"]
    if st.session_state.get(_CELL) != (key, cells):  # a tick also repeats the previously clicked cell
        st.session_state[_CELL] = (key, cells)
        place = next((place for place, _ in cells if place < len(rows)), None)
        if place is not None:
            open_experience(rows[place].id)
