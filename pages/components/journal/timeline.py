"""The journal's timeline: bars by day or round. A brush across it narrows the list below."""

from __future__ import annotations

from datetime import UTC, date
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.timeline import (
    Timeline,
    brush_range,
    timeline,
    timeline_caption,
    timeline_chart,
    where_in_time,
)
from atlas.views.lists.queries import Query
from atlas.views.shared.state import StoreState
from pages.components.lists.filters import digest
from pages.components.shared.snapshot import store_state

BOUNDS = {True: ("first_day", "last_day"), False: ("since", "until")}
"""Names of the filters that a brush sets: of bars by day, and of others."""

CONFIG = {"displaylogo": False, "scrollZoom": False, "modeBarButtonsToRemove": ["lasso2d", "autoScale2d", "toImage"]}


def draw_timeline(memory: MemorySystem, query: Query) -> None:
    """Draw the entries that pass the filters at all times, including those outside of the brush."""
    state = store_state(memory)
    filter_digest = digest(where_in_time(memory, query))
    today = memory.storage.ledger.clock.now().astimezone(UTC).toordinal()
    timeline = _timeline(state, filter_digest, today, _memory=memory, _query=query)
    if not timeline.lanes:
        return
    key = f"journal_timeline_{filter_digest}_{hash(state)}"
    since, until = (query.values.get(name) for name in BOUNDS[timeline.is_by_day])
    if timeline.is_by_day:
        since, until = (None if day is None else day.toordinal() for day in (since, until))
    chart = timeline_chart(timeline, since, until)
    st.plotly_chart(chart, key=key, on_select=partial(_narrow, key, timeline), selection_mode="box", config=CONFIG,
                    alt=timeline_caption(timeline))  # fmt: skip
    with st.container():  # a container, so that the widgets below keep their identity
        if any(query.values.get(name) is not None for names in BOUNDS.values() for name in names):
            st.button("All times", key="journal_all_times", icon=":material/close:", type="tertiary",
                      on_click=_widen)  # fmt: skip


def _narrow(key: str, timeline: Timeline) -> None:
    """Set the filters to the days or generations under the brush. The callback of the chart."""
    chosen = brush_range(st.session_state[key]["selection"], timeline)
    _widen()
    for name, position in zip(BOUNDS[timeline.is_by_day], chosen or (), strict=False):
        st.session_state[f"journal_{name}"] = date.fromordinal(position) if timeline.is_by_day else position


def _widen() -> None:
    st.session_state.update({f"journal_{name}": None for names in BOUNDS.values() for name in names})


@st.cache_data(max_entries=16, show_spinner=False)
def _timeline(state: StoreState, filter_digest: str, today: int, *, _memory: MemorySystem, _query: Query) -> Timeline:
    return timeline(_memory, _query, today)
