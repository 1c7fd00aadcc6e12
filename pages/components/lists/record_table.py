"""Tables of memories with rows to open and select."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import streamlit as st

from atlas.views.kinds.columns import Columns
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.lists.cells import table_as_json
from atlas.views.lists.queries import Row
from atlas.views.shared.browser import asset
from pages.components.lists.selection import current_selection, select, unselect
from pages.frame.address import OPENED, parameter, set_parameter

HEADER_PIXELS, ROW_PIXELS, PADDING_PIXELS = 35, 35, 16
WRAPPED_ROW_PIXELS = 66
"""Height of a row with several lines of text. Streamlit wraps cell text from 65 pixels on."""

_table = st.components.v2.component("records", css=asset("chip.css") + asset("records.css"), js=asset("records.js"))


def experience_table(rows: Sequence[Row], *, columns: Columns, key: str, kind: Kind = EXPERIENCE) -> None:
    """Draw a table whose rows open their records.

    Args:
        key: No other table of the page has it.
    """
    _table(key=key, data={**table_as_json(kind, columns, rows), "opened": _opened_of(rows), "selected": None},
           on_opened_change=partial(_open, key))  # fmt: skip


def selectable_table(
    rows: Sequence[Row],
    *,
    columns: Columns,
    key: str,
    origin: str,
    revision: int,
    kind: Kind = EXPERIENCE,
    order: str = "",
) -> None:
    """Draw `experience_table` with checkboxes for the selection that all pages share.

    Args:
        origin: Name of this table in the tray's sentence on a selection.
        revision: Revision of the store at which the rows were read.
        order: The current order, or empty if the headings do not sort.
    """
    chosen = {*current_selection(kind).ids}
    data = {
        **table_as_json(kind, columns, rows, order),
        "opened": _opened_of(rows),
        "selected": [row.id for row in rows if chosen.issuperset(row.ids)],
    }
    _table(
        key=key,
        data=data,
        on_opened_change=partial(_open, key),
        on_chosen_change=partial(_take_selected, rows, key, origin, revision, kind),
        on_order_change=partial(_sort, key, kind),
    )


def ticked_table(
    rows: Sequence[Row],
    *,
    columns: Columns,
    key: str,
    ticked: Collection[str] | None = None,
    fixed: Sequence[str] = (),
    on_ticked: Callable[[Sequence[str], bool], None] | None = None,
) -> None:
    """Draw a table whose rows do not open, with boxes to tick.

    Args:
        ticked: Ids of the rows that are ticked. Without it there are no boxes.
        fixed: Ids of the rows without a box.
        on_ticked: Takes the ids of rows that are ticked or unticked, and whether they are ticked.
    """
    data = {**table_as_json(EXPERIENCE, columns, rows), "label": "Plan", "opened": None, "is_still": True,
            "selected": None if ticked is None else [*ticked], "fixed": [*fixed]}  # fmt: skip
    _table(key=key, data=data, on_chosen_change=partial(_take_ticks, key, on_ticked))


def origin_of(kind: Kind) -> str:
    """Return the tray's label for a selection made in a kind's list."""
    return f"rows on {kind.page.capitalize()}"


def plain_table(
    rows: Sequence[Row],
    *,
    columns: Columns,
    key: str,
    label: str,
    on_opened: Callable[[str], None] | None = None,
    opened: str | None = None,
) -> None:
    """Draw a table of anything but memories.

    Args:
        key: No other table of the page has it.
        label: What the rows are, for screen readers.
        on_opened: Called with the id of a row that is clicked. Without it, rows cannot be clicked.
        opened: Id of the row that is marked as the current one.
    """
    data = {**table_as_json(EXPERIENCE, columns, rows), "label": label, "opened": opened, "selected": None,
            "is_still": on_opened is None}  # fmt: skip
    _table(key=key, data=data, on_opened_change=partial(_call_opened, key, on_opened))


def _call_opened(key: str, on_opened: Callable[[str], None] | None) -> None:
    opened = st.session_state[key].get("opened")
    if opened and on_opened is not None:
        on_opened(str(opened))


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


def _opened_of(rows: Sequence[Row]) -> str | None:
    """Return the id of the row with the open record, or None if no row has it. The address may contain any text."""
    opened = opened_id()
    return next((row.id for row in rows if opened == row.id or opened in row.ids), None)


def open_experience(record_id: str) -> None:
    """Open a record beside the list. Callback on the page of its kind."""
    set_parameter(OPENED, record_id)


def close_opened() -> None:
    """Close the open record."""
    set_parameter(OPENED, None)


def _open(key: str) -> None:
    if opened := st.session_state[key].get("opened"):
        open_experience(str(opened))


def _sort(key: str, kind: Kind) -> None:
    order = st.session_state[key].get("order")
    if order in kind.orders:
        st.session_state[f"{kind.page}_order"] = order


def _take_ticks(key: str, on_ticked: Callable[[Sequence[str], bool], None] | None) -> None:
    event: dict[str, Any] | None = st.session_state[key].get("chosen")
    if event and on_ticked is not None:
        on_ticked(event["ids"], event["isChosen"])


def _take_selected(rows: Sequence[Row], key: str, origin: str, revision: int, kind: Kind) -> None:
    """Select or unselect the records of the ticked rows, as the table showed them."""
    event: dict[str, Any] | None = st.session_state[key].get("chosen")
    if not event:
        return
    ids = [record_id for row in rows if row.id in event["ids"] for record_id in row.ids]
    if event["isChosen"]:
        select([*current_selection(kind).ids, *ids], origin=origin, revision=revision, kind=kind)
    else:
        unselect(ids)
