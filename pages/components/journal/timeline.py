"""The journal's timeline: bars by generation and type. A brush across it narrows the list below."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.timeline import (
    Timeline,
    brushed,
    timeline,
    timeline_caption,
    timeline_chart,
    where_in_time,
)
from atlas.views.lists.queries import Query
from atlas.views.shared.state import StoreState
from pages.components.lists.filters import digest
from pages.components.shared.snapshot import store_state

CONFIG = {"displaylogo": False, "scrollZoom": False, "modeBarButtonsToRemove": ["lasso2d", "autoScale2d", "toImage"]}


def draw_timeline(memory: MemorySystem, query: Query) -> None:
    """Draw the entries that pass the filters in all generations, including those outside of the brush."""
    state = store_state(memory)
    filter_digest = digest(where_in_time(memory, query))
    timeline = _timeline(state, filter_digest, _memory=memory, _query=query)
    if not timeline.lanes:
        return
    key = f"journal_timeline_{filter_digest}_{hash(state)}"
    since, until = query.values.get("since"), query.values.get("until")
    chart = timeline_chart(timeline, since, until)
    st.plotly_chart(chart, key=key, on_select=partial(_narrow, key, timeline), selection_mode="box", config=CONFIG,
                    alt=timeline_caption(timeline))  # fmt: skip
    with st.container():  # a container, so that the widgets below keep their identity
        if since is not None or until is not None:
            st.button("All rounds", key="journal_all_generations", icon=":material/close:", type="tertiary",
                      on_click=_widen)  # fmt: skip


def _narrow(key: str, timeline: Timeline) -> None:
    """Set the filter to the generations under the brush. The callback of the chart."""
    selection = st.session_state[key]["selection"]
    chosen = brushed(selection, timeline)
    if chosen is not None:
        st.session_state.update(journal_since=chosen[0], journal_until=chosen[1])
    else:
        _widen()


def _widen() -> None:
    st.session_state.update(journal_since=None, journal_until=None)


@st.cache_data(max_entries=16, show_spinner=False)
def _timeline(state: StoreState, filter_digest: str, *, _memory: MemorySystem, _query: Query) -> Timeline:
    return timeline(_memory, _query)
