"""Tables of memories, in which a click opens one, and boxes at their side select several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import streamlit as st

from atlas.views.concepts.lineage import Relation
from atlas.views.concepts.list import ConceptRow
from atlas.views.experience.list import ExperienceRow
from atlas.views.journal.list import EntryRow
from atlas.views.shared.kinds import EXPERIENCE, Kind
from atlas.views.strategies.list import StrategyRow
from pages.components.lists.selection import current_selection, select

TableRow = ExperienceRow | ConceptRow | Relation | StrategyRow | EntryRow

RANKED = ("relevance", "why")
"""Columns of lists that are ranked by best match."""

OPTIONAL = ("domain", "source", "marks", "trend", "without", "retired", "bar")
"""Columns that are left out where they say nothing."""

OPENED = "id"
"""The query parameter that names what is opened."""

ROW_PIXELS, TABLE_PIXELS = 35, 600

COLUMNS = {
    "sign": st.column_config.TextColumn("", width=30),
    "outcome": st.column_config.TextColumn("Outcome", width=105),
    "relevance": st.column_config.ProgressColumn(
        "Relevance", format="%.2f", min_value=0, max_value=1, width=95, help="How much it has to do with the question"
    ),
    "task": st.column_config.TextColumn("Task", width=330),
    "attempts": st.column_config.TextColumn(
        "Attempts", width=150, help="How many attempts at the task are alike, and how they went; the best is shown"
    ),
    "domain": st.column_config.TextColumn("Domain", width=140),
    "source": st.column_config.TextColumn("Source", width=110),
    "n_steps": st.column_config.NumberColumn("Steps", format="localized", width=55),
    "created_at": st.column_config.DatetimeColumn("When (UTC)", format="YYYY-MM-DD HH:mm", width=125, timezone="UTC"),
    "marks": st.column_config.TextColumn("Marks", width=110),
    "why": st.column_config.TextColumn("Why it is here", width=420),
    "name": st.column_config.TextColumn("Name", width=180),
    "description": st.column_config.TextColumn("What it does", width=290),
    "language": st.column_config.TextColumn("Language", width=85),
    "n_uses": st.column_config.NumberColumn("Uses", format="localized", width=55, help="Tasks that it was used for"),
    "succeeded": st.column_config.TextColumn(
        "Succeeded", width=165, help="Of the tasks that it was used for, with the 95 % interval (Wilson)"
    ),
    "how": st.column_config.TextColumn("How", width=95),
    "title": st.column_config.TextColumn("Situation", width=300),
    "suggestion": st.column_config.TextColumn("What to do", width=260),
    "tries": st.column_config.TextColumn(
        "Succeeded", width=165, help="Of its tries, with where the rate lies with a probability of 95 %"
    ),
    "bar": st.column_config.ImageColumn(
        "0 – 50 – 100 %",
        width=140,
        help="The rate of its tries and its 95 % interval; in grey, of attempts at its tasks without it, where nobody "
        "has tried it",
    ),
    "trend": st.column_config.TextColumn(
        "Trend", width=105, help="Earlier tries against the latest; an arrow up or down where that is hardly chance"
    ),
    "without": st.column_config.TextColumn(
        "Its tasks without it", width=165, help="Attempts at the tasks that it comes from; its sources are among them"
    ),
    "n_sources": st.column_config.NumberColumn(
        "Sources", format="localized", width=65, help="Successful attempts that it was abstracted from"
    ),
    "retired": st.column_config.TextColumn("Retired", width=110, help="Kept and shown, but not given to agents"),
    "entry_type": st.column_config.TextColumn("Type", width=115),
    "generation": st.column_config.NumberColumn("Gen.", format="localized", width=55, help="Generation of the agent"),
    "content": st.column_config.TextColumn("What it says", width=420),
    "importance": st.column_config.NumberColumn("Importance", format="%.2f", width=85, help="From 0 to 1"),
    "tier": st.column_config.TextColumn("Tier", width=70),
    "n_links": st.column_config.NumberColumn("Links", format="localized", width=50, help="That it has to others"),
    "written_by": st.column_config.TextColumn("Written by", width=90),
}
"""Of all tables of memories, by the fields of their rows."""


def experience_table(rows: Sequence[TableRow], *, columns: Sequence[str], key: str, kind: Kind = EXPERIENCE) -> None:
    """A table whose rows open what they stand for.

    Args:
        columns: Names of fields of a row, in order; those that say nothing of any row are left out.
        key: Must change whenever the rows do: a selection is kept by position.
    """
    ids = tuple(row.id for row in rows)
    key = f"{key}_{st.session_state.get(_CLICKS, 0)}"
    on_select = partial(open_clicked, ids, key)
    st.dataframe(
        **_content(rows, columns, kind), key=key, on_select=on_select, selection_mode=["single-row", "single-cell"]
    )


def selectable_table(
    rows: Sequence[TableRow],
    *,
    columns: Sequence[str],
    key: str,
    origin: str,
    revision: int,
    kind: Kind = EXPERIENCE,
) -> None:
    """`experience_table` with a box beside each row, which puts it into the selection that all pages share.

    Args:
        origin: What the tray calls a selection that is made here.
        revision: The store's, at the time that the rows were read.
    """
    ids = tuple(row.id for row in rows)
    chosen = {*current_selection(kind).ids}
    wanted = [position for position, record_id in enumerate(ids) if record_id in chosen]
    key, at_first = _fresh(f"{key}_{st.session_state.get(_CLICKS, 0)}", wanted)
    st.dataframe(
        **_content(rows, columns, kind),
        key=key,
        on_select=partial(_take_selected, ids, key, origin, revision, kind),
        selection_mode=["multi-row", "single-cell"],
        selection_default={"selection": {"rows": at_first}},
    )


def origin_of(kind: Kind) -> str:
    """What the tray calls a selection that was made in a kind's list."""
    return f"rows on {kind.page.capitalize()}"


def clicked_row(key: str, n: int) -> int | None:
    """The row of a table that was clicked, of the `n` that it has; None where none was.

    Args:
        key: The table's, whose selection is of a single row, of a single cell, or of either.
    """
    selection = st.session_state[key]["selection"]
    rows = [*selection.get("rows", ()), *(row for row, _ in selection.get("cells", ()))]
    return next((row for row in rows if row < n), None)


def open_clicked(ids: tuple[str, ...], key: str) -> None:
    """Open what was clicked, by the ids that the clicked table showed; for a table's callback."""
    row = clicked_row(key, len(ids))
    if row is not None:
        open_experience(ids[row])


def opened_id() -> str | None:
    """The experience, or what else the page is about, that the URL names."""
    return st.query_params.get(OPENED)


def open_experience(record_id: str) -> None:
    """Open one beside the list; for a callback on the page of its kind."""
    st.query_params[OPENED] = record_id


def close_opened() -> None:
    """Go back to the list alone."""
    st.query_params.pop(OPENED, None)
    st.session_state[_CLICKS] = st.session_state.get(_CLICKS, 0) + 1  # a fresh table, in which no cell is selected


_CLICKS, _FRESH = "experience_tables_drawn", "experience_tables_fresh"
_AT_FIRST, _CELL = "experience_tables_at_first", "experience_tables_cell"


def _content(rows: Sequence[TableRow], columns: Sequence[str], kind: Kind) -> dict[str, Any]:
    says_nothing = {
        *(name for name in RANKED if all(row.relevance is None for row in rows)),
        *(name for name in OPTIONAL if not any(getattr(row, name, "") for row in rows)),
    }
    return {
        "data": [asdict(row) for row in rows],
        "column_order": [name for name in columns if name not in says_nothing],
        "column_config": COLUMNS,
        "hide_index": True,
        "height": min(TABLE_PIXELS, ROW_PIXELS * (len(rows) + 1) + 3),
        "alt": kind.page.capitalize(),
    }


def _fresh(key: str, wanted: list[int]) -> tuple[str, list[int]]:
    """The key of a table whose boxes show what is selected, and the rows that were when it was first drawn.

    Where the selection was changed elsewhere, it is another table. Otherwise nothing of it may change, or the browser
    would draw it anew under the person's hand.
    """
    number, drawn = st.session_state.get(_FRESH, 0), st.session_state.get(_AT_FIRST)
    held = st.session_state.get(f"{key}_{number}")
    if held is not None and sorted(held["selection"]["rows"]) != wanted:
        st.session_state[_FRESH] = number = number + 1
    key = f"{key}_{number}"
    if drawn is None or drawn[0] != key:
        st.session_state[_AT_FIRST] = drawn = (key, wanted)
    return key, drawn[1]


def _take_selected(ids: tuple[str, ...], key: str, origin: str, revision: int, kind: Kind) -> None:
    """Select what has a tick, by the ids that the table showed; what other pages of the list hold stays selected."""
    if st.session_state[_AT_FIRST][0] != key:  # a late word of a table that has gone since: its rows may have too
        return
    selection, now = st.session_state[key]["selection"], current_selection(kind)
    ticked = [ids[row] for row in selection["rows"] if row < len(ids)]
    elsewhere = [record_id for record_id in now.ids if record_id not in ids]
    if {*elsewhere, *ticked} != {*now.ids}:  # in whatever order they were selected: a click alone changes nothing
        select([*elsewhere, *ticked], origin=origin, revision=revision, kind=kind)
    cells = selection["cells"]
    if st.session_state.get(_CELL) != (key, cells):  # a tick reports once more the cell that was clicked before it
        st.session_state[_CELL] = (key, cells)
        row = next((row for row, _ in cells if row < len(ids)), None)
        if row is not None:
            open_experience(ids[row])
