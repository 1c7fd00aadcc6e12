"""The judged queries of a store, with the offer to delete some."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.evaluation.judged import Forgotten, forgotten_sentence, judged_rows
from atlas.views.evaluation.own import UNJUDGED
from atlas.views.shared.wording import counted
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.filters import digest
from pages.components.shared.undo_toast import Act, Turn, announce_act, announcing_problems

COLUMNS = {
    "query": st.column_config.TextColumn("Query", width="large"),
    "right": st.column_config.TextColumn("Right", width=200),
    "wrong": st.column_config.TextColumn("Wrong", width=200),
    "judged_at": st.column_config.DatetimeColumn("Judged last (UTC)", format="D MMM YYYY, HH:mm", timezone="UTC"),
}
ABOUT = (
    "The measurement uses these judgements. A query should find the experiences that were judged right, and nothing if "
    "all were judged wrong."
)


def draw_judged(memory: MemorySystem) -> None:
    """Draw the judged queries, or an explanation if there are none."""
    rows = judged_rows(memory)
    if not rows:
        st.info(UNJUDGED, icon=":material/info:")
        st.page_link("pages/ask.py", label="Ask", icon=":material/arrow_forward:")
        return
    st.caption(ABOUT)
    table = st.dataframe(
        [asdict(row) for row in rows],
        column_config=COLUMNS,
        hide_index=True,
        key=f"evaluation_judged_{digest(rows)}",
        on_select="rerun",
        selection_mode="multi-row",
        alt="The judged queries",
    )
    queries = [rows[row].query for row in table["selection"]["rows"]]
    disabled = memory.storage.read_only
    st.button(
        f"Delete {counted(len(queries), 'query')}" if queries else "Delete the chosen ones",
        key="evaluation_forget",
        icon=":material/delete:",
        disabled=disabled or not queries,
        help=READ_ONLY if disabled else "Deletes what was judged, not the hits. It can be undone.",
        on_click=_forget,
        args=(memory, queries),
    )


def _forget(memory: MemorySystem, queries: list[str]) -> None:
    with announcing_problems():
        announce_act(Act(forgotten_sentence(len(queries)), _forgetting(queries)(memory)))


def _forgetting(queries: list[str]) -> Turn:
    return lambda memory: _putting_back(queries, memory.storage.judgements.forget(queries))


def _putting_back(queries: list[str], forgotten: Forgotten) -> Turn:
    def put_back(memory: MemorySystem, /) -> Turn:
        memory.storage.judgements.restore(forgotten)
        return _forgetting(queries)

    return put_back
