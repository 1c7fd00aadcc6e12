"""When the searches of a store were measured, what has changed since, and the button that measures them again."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.evaluation.own import (
    LiveEvaluation,
    OwnEvaluation,
    Prospects,
    measured_caption,
    prospects,
    why_outdated,
)
from atlas.views.shared.state import StoreState
from pages.components.shared.jobs import draw_job, live_result
from pages.components.shared.snapshot import store_state


def measurable(memory: MemorySystem) -> Prospects:
    """Return what can be measured on the store, cached by its state."""
    return _prospects(store_state(memory), memory.storage.judgements.state(), _memory=memory)


def draw_measured(memory: MemorySystem, evaluation: OwnEvaluation) -> bool:
    """Draw when a measurement was made and what has changed since, and return whether anything has."""
    changed = why_outdated(memory, evaluation)
    st.caption(measured_caption(memory, evaluation), width="content")
    if changed:
        st.markdown(f":small[:orange[:material/warning:] {changed}]", width="content")
    return bool(changed)


def draw_run(memory: MemorySystem) -> None:
    """Draw the button that starts a measurement, or its progress."""
    live = live_result(memory, LiveEvaluation)
    is_first = live.current() is None
    if draw_job(
        memory, LiveEvaluation, "Measuring" if is_first else "Measuring again", key="evaluation", is_timed=True
    ):
        return
    st.button(
        "Measure" if is_first else "Measure again",
        key="evaluation_run",
        icon=":material/play_arrow:",
        type="primary" if is_first else "secondary",
        on_click=live.ask,
        help="Runs in the background for seconds to minutes. It does not count as a retrieval.",
    )


@st.cache_data(max_entries=8, show_spinner=False)
def _prospects(state: StoreState, judged: str, *, _memory: MemorySystem) -> Prospects:
    return prospects(_memory)
