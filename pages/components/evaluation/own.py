"""Evaluation of a store's searches on its own attempts."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.evaluation.charts import measured_chart
from atlas.views.evaluation.own import (
    IN_ALL_FIGURES,
    QUERIES,
    LiveEvaluation,
    OwnEvaluation,
    Prospects,
    foreign_sentence,
    is_unreadable,
    meaning,
    measured,
    measured_caption,
    measures_on,
    prospects,
    staleness,
    table_rows,
)
from atlas.views.evaluation.verdict import verdict
from atlas.views.shared.state import StoreState
from pages.components.overview.parts import CHART
from pages.components.shared.jobs import draw_job, is_running, live_result
from pages.components.shared.snapshot import store_state

_OF = dict(zip(QUERIES, ("", "_judged"), strict=True))
"""Suffixes of the widget keys for each kind of query."""

ABOUT = (
    "No labels are needed. Each attempt at a task that was tried more than once is held out, and a search for its task"
    " should find the others. The outcomes of the hits are then used to predict the outcome of that attempt."
)


def draw_own(memory: MemorySystem) -> None:
    """Draw the available measurements, a button that starts them, and the last results."""
    ahead = _prospects(store_state(memory), memory.storage.judgements.state(), _memory=memory)
    live = live_result(memory, LiveEvaluation)
    st.caption(ABOUT)
    if not ahead.can_run:
        st.info(ahead.sentence, icon=":material/info:")
    else:
        live.keep_up()
        st.text(ahead.sentence)
        draw_run(memory)
    found = live.current()
    if (live.saved().written_at and found is None) or (found is not None and is_unreadable(found)):
        st.warning("What was measured here before cannot be read. Measure again.", icon=":material/error:")
    elif found is not None:
        draw_found(memory, found)


def draw_run(memory: MemorySystem) -> None:
    """Draw the button that starts a measurement, or its progress."""
    live = live_result(memory, LiveEvaluation)
    if draw_job(memory, LiveEvaluation, "Measuring", key="evaluation"):
        return
    st.button(
        "Measure" if live.current() is None else "Measure again",
        key="evaluation_run",
        icon=":material/play_arrow:",
        type="primary" if live.current() is None else "secondary",
        on_click=live.ask,
        help="Runs in the background for seconds to minutes. It does not count as a retrieval.",
    )


def draw_found(memory: MemorySystem, found: OwnEvaluation) -> None:
    """Draw the verdict, the measured data, and the state of the store."""
    if judged := verdict(found):
        st.markdown(f"**{judged.sentence}** {judged.advice}")
    st.text(measured_caption(found))
    if changed := staleness(memory, found):
        st.warning(changed, icon=":material/history:")
    on = draw_queries(found)
    measures = measures_on(found, on)
    foremost = [measure for measure in measures if measure not in IN_ALL_FIGURES]
    measure = st.segmented_control(
        "Measure", foremost, default=foremost[0], required=True, key=f"evaluation_measure{_OF[on]}"
    )
    of = measured(found, measure or foremost[0], on)
    if of is not None:
        st.caption(f"{meaning(measure or foremost[0], on)} {of.caption}")
        st.plotly_chart(measured_chart(of), key="evaluation_chart", config=CHART, alt=f"{measure} by search method")
    if foreign := foreign_sentence(found):
        st.text(foreign)
    with st.expander("All figures", key="evaluation_figures"):
        columns = {
            "setting": st.column_config.TextColumn("", width="medium", pinned=True),
            **{name: st.column_config.TextColumn(name, width=150, help=meaning(name, on)) for name in measures},
        }
        st.dataframe(
            table_rows(found, on),
            column_config=columns,
            column_order=list(columns),
            hide_index=True,
            key=f"evaluation_table{_OF[on]}_{found.measured_at}",
            alt="Every measure of every search method",
        )


def draw_queries(found: OwnEvaluation) -> str:
    """Draw the choice of queries, unless there is only one kind."""
    measured = [on for on in QUERIES if measures_on(found, on)]
    if len(measured) == 1:
        return measured[0]
    chosen = st.segmented_control(
        "Measured on",
        measured,
        format_func=QUERIES.__getitem__,
        default=measured[0],
        required=True,
        key="evaluation_queries",
    )
    return chosen or measured[0]


def draw_verdict(memory: MemorySystem) -> None:
    """Draw the verdict on searches in one line. If the store has grown much, a new measurement is started."""
    if not _prospects(store_state(memory), memory.storage.judgements.state(), _memory=memory).can_run:
        return
    live = live_result(memory, LiveEvaluation)
    live.keep_up()
    found = live.current()
    judged = verdict(found) if found is not None and not is_unreadable(found) else None
    if judged is not None:
        st.subheader("Does search find the right memories?", anchor=False)
        st.markdown(judged.sentence)
        part = {"evaluation_tab": "Strictness"} if judged.advice else {}
        label = judged.advice.rstrip(".") or "How it was measured"
        st.page_link("pages/evaluation.py", label=label, icon=":material/query_stats:", query_params=part)
    elif is_running(live):
        st.caption("How well searches work is being measured in the background.")


@st.cache_data(max_entries=8, show_spinner=False)
def _prospects(state: StoreState, judged: str, *, _memory: MemorySystem) -> Prospects:
    return prospects(_memory)
