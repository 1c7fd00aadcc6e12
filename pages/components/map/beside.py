"""Beside the map: the ranked hits of a query, and the distinctive features of the selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.map.difference import Difference, Share, compare_selection
from atlas.views.map.domains import RANK_COLUMNS, rank_lines
from atlas.views.map.page import Hits
from atlas.views.map.sheet import Sheet
from atlas.views.shared.state import StoreState
from pages.components.lists.filters import digest
from pages.components.lists.record_table import WRAPPED_ROW_PIXELS, experience_table
from pages.components.lists.selection import current_selection
from pages.components.shared.memory_map import live_columns
from pages.components.shared.narrowing import current_scope
from pages.components.shared.snapshot import store_state

HITS_LISTED = 12
"""Hits that are listed. The map marks more of them."""

WORD_PIXELS = 28
"""Height of a row with a single word."""

DIFFERENCE_HELP = (
    "Words are those of the tasks. They are listed by log-odds with an informative prior, if they are more frequent in "
    "the selection by more than three standard errors, so that chance lists hardly any. Sources and agents are listed "
    "if the intervals of their shares do not overlap. Intervals are 95%."
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
    experience_table(lines[:HITS_LISTED], columns=RANK_COLUMNS, key=f"map_hits_{digest(hits.ids, sheet.points.key)}")
    if len(lines) > HITS_LISTED:
        st.caption(f"The best {HITS_LISTED} of {len(lines)}. The map marks all of them.")


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
    return compare_selection(_ids, _sheet.points.ids, _memory.experience.titles, columns)
