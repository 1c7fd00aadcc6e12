"""Beside the map: what a question found, in its order, and what is different about what is selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.map.difference import Difference, Share, difference_of
from atlas.views.map.domains import rank_lines
from atlas.views.map.page import Hits
from atlas.views.map.sheet import Sheet
from atlas.views.shared.state import StoreState
from pages.components.lists.record_table import open_clicked
from pages.components.lists.selection import current_selection
from pages.components.shared.memory_map import live_columns
from pages.components.shared.narrowing import current_scope
from pages.components.shared.scope import digest
from pages.components.shared.snapshot import store_state

HITS_PIXELS = 380
HITS = {
    "rank": st.column_config.NumberColumn("", width=35),
    "outcome": st.column_config.TextColumn("", width=30),
    "task": st.column_config.TextColumn("Task"),
}
SHARES = {
    "selected": st.column_config.TextColumn("Selected", width=110),
    "rest": st.column_config.TextColumn("The rest", width=110),
}
DIFFERENCE_HELP = (
    "Words are those of the tasks. They are listed by log-odds with an informative prior, if they are more frequent in "
    "the selection by more than three standard errors, so that chance lists hardly any. Sources and agents are listed if their share in one part lies "
    "outside the interval of the other. Intervals are 95 % (Wilson)."
)


def draw_hits(memory: MemorySystem, sheet: Sheet, hits: Hits) -> None:
    """Draw what the question found, best first. A click opens one."""
    if not current_scope().is_search:
        return
    st.markdown("**Found, best first**")
    lines = rank_lines(hits.ids, sheet.points, memory.experience.titles(hits.ids))
    if not lines:
        st.caption("Nothing in scope answers this question.")
        return
    key = f"map_hits_{digest(hits.ids, sheet.points.key)}"
    st.dataframe(
        [asdict(line) for line in lines],
        column_config=HITS,
        column_order=("rank", "outcome", "task"),
        hide_index=True,
        height=min(HITS_PIXELS, 35 * (len(lines) + 1) + 3),
        key=key,
        on_select=partial(open_clicked, tuple(line.id for line in lines), key),
        selection_mode="single-cell",
        alt="What the question found, best first",
    )


def draw_difference(memory: MemorySystem, sheet: Sheet) -> None:
    """Draw what is different about the selection, where there is one."""
    ids = current_selection().ids
    if len(ids) < 2:
        return
    found = _difference(store_state(memory), digest(ids), _memory=memory, _sheet=sheet, _ids=ids)
    if found is None:
        return
    st.markdown("**What is different about this selection**", help=DIFFERENCE_HELP)
    _draw_shares("", found.facts)
    if found.words:
        _draw_shares("Word of the task", found.words)
    else:
        st.caption("No word of the tasks is surely more frequent here.")


def _draw_shares(title: str, shares: Sequence[Share]) -> None:
    name = {"name": st.column_config.TextColumn(title, width=120)}
    st.dataframe([asdict(share) for share in shares], column_config=name | SHARES, hide_index=True, row_height=28)


@st.cache_data(max_entries=8, show_spinner=False)
def _difference(
    state: StoreState, asked: str, *, _memory: MemorySystem, _sheet: Sheet, _ids: Sequence[str]
) -> Difference | None:
    read = live_columns(_memory).read
    columns = {key: read(key) for key in ("outcome", "source", "agent_id", "created_at")}
    return difference_of(_ids, _sheet.points.ids, _memory.experience.titles, columns)
