"""Tables of experiences, in which a click opens one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import streamlit as st

from atlas.views.experiences import ExperienceRow

RANKED = ("similarity", "bonuses")
"""Columns of lists that are ranked by meaning."""

OPENED = "id"
"""The query parameter that names the opened experience."""

ROW_PIXELS, TABLE_PIXELS = 35, 600

COLUMNS = {
    "sign": st.column_config.TextColumn("", width=30),
    "outcome": st.column_config.TextColumn("Outcome", width=110),
    "similarity": st.column_config.NumberColumn("Similarity", format="%.2f", width=80, help="Cosine, from −1 to 1"),
    "task": st.column_config.TextColumn("Task", width="large"),
    "source": st.column_config.TextColumn("Source", width=120),
    "domain": st.column_config.TextColumn("Domain", width=90),
    "n_steps": st.column_config.NumberColumn("Steps", format="localized", width=60),
    "created_at": st.column_config.DatetimeColumn("When (UTC)", format="YYYY-MM-DD HH:mm", width=130, timezone="UTC"),
    "bonuses": st.column_config.TextColumn(
        "Added for the order", width=250, help="Small additions to the similarity for what is known to have worked"
    ),
}


def experience_table(rows: Sequence[ExperienceRow], *, columns: Sequence[str], key: str) -> None:
    """A table whose rows open their experience.

    Args:
        columns: Names of fields of a row, in order.
        key: Must change whenever the rows do: a selection is kept by position.
    """
    ids = tuple(row.id for row in rows)
    if all(row.similarity is None for row in rows):
        columns = [name for name in columns if name not in RANKED]
    key = f"{key}_{st.session_state.get(_CLICKS, 0)}"
    st.dataframe(
        [asdict(row) for row in rows],
        column_order=columns,
        column_config=COLUMNS,
        hide_index=True,
        height=min(TABLE_PIXELS, ROW_PIXELS * (len(rows) + 1) + 3),
        key=key,
        on_select=partial(_open_selected, ids, key),
        selection_mode=["single-row", "single-cell"],
    )


def opened_id() -> str | None:
    """The experience that the URL names."""
    return st.query_params.get(OPENED)


def close_opened() -> None:
    """Go back to the list alone."""
    st.query_params.pop(OPENED, None)
    st.session_state[_CLICKS] = st.session_state.get(_CLICKS, 0) + 1  # a fresh table, in which nothing is selected


_CLICKS = "experience_tables_drawn"


def _open_selected(ids: tuple[str, ...], key: str) -> None:
    """Open what was clicked, by the ids that the clicked table showed."""
    selection = st.session_state[key]["selection"]
    chosen = [*selection["rows"], *(row for row, _ in selection["cells"])]
    if chosen and chosen[0] < len(ids):
        st.query_params[OPENED] = ids[chosen[0]]
