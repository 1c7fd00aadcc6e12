"""Beside the map: the ranked hits of a query, and the distinctive features of the selection."""

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
from pages.components.lists.filters import digest
from pages.components.lists.record_table import WRAPPED_ROW_PIXELS, open_clicked, table_height
from pages.components.lists.selection import current_selection
from pages.components.shared.memory_map import live_columns
from pages.components.shared.narrowing import current_scope
from pages.components.shared.snapshot import store_state

HITS_AT_ONCE = 6
HITS = {
    "rank": st.column_config.NumberColumn("", width=35),
    "outcome": st.column_config.TextColumn("", width=30),
    "task": st.column_config.TextColumn("Task", width=215),
}
WORD_PIXELS = 28
"""Height of a row with a single word."""

DIFFERENCE_HELP = (
    "Words are those of the tasks. They are listed by log-odds with an informative prior, if they are more frequent in "
    "the selection by more than three standard errors, so that chance lists hardly any. Sources and agents are listed "
    "if the intervals of their shares do not overlap. Intervals are 95 % (Wilson)."
)


def draw_hits(memory: MemorySystem, sheet: Sheet, hits: Hits) -> None:
    """Draw the hits of the query, best first. A click opens one."""
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
        row_height=WRAPPED_ROW_PIXELS,
        height=table_height(len(lines), HITS_AT_ONCE, WRAPPED_ROW_PIXELS),
        key=key,
        on_select=partial(open_clicked, tuple(line.id for line in lines), key),
        selection_mode="single-cell",
        alt="What the question found, best first",
    )


def draw_difference(memory: MemorySystem, sheet: Sheet) -> None:
    """Draw the distinctive features of the selection, if there is one."""
    ids = current_selection().ids
    if len(ids) < 2:
        return
    found = _difference(store_state(memory), digest(ids), _memory=memory, _sheet=sheet, _ids=ids)
    if found is None:
        return
    st.markdown("**What is different about this selection**", help=DIFFERENCE_HELP)
    st.caption(found.caption)
    _draw_shares("", found.facts, WRAPPED_ROW_PIXELS, "Outcome, sources and age of the selection and of the rest")
    if found.words:
        _draw_shares("Word", found.words, WORD_PIXELS, "Words that are more frequent in the selected tasks")
    else:
        st.caption("No word is clearly more frequent in the selected tasks.")


def _draw_shares(title: str, shares: Sequence[Share], row_pixels: int, alt: str) -> None:
    wide = (80, 102)
    columns = {
        "name": st.column_config.TextColumn(title, width=wide[0]),
        "selected": st.column_config.TextColumn("Selected", width=wide[1]),
        "rest": st.column_config.TextColumn("The rest", width=wide[1]),
    }
    lines = [asdict(share) for share in shares]
    st.dataframe(lines, column_config=columns, hide_index=True, row_height=row_pixels, height="content", alt=alt)


@st.cache_data(max_entries=8, show_spinner=False)
def _difference(
    state: StoreState, scope_digest: str, *, _memory: MemorySystem, _sheet: Sheet, _ids: Sequence[str]
) -> Difference | None:
    read = live_columns(_memory).read
    columns = {key: read(key) for key in ("outcome", "source", "agent_id", "created_at")}
    return difference_of(_ids, _sheet.points.ids, _memory.experience.titles, columns)
