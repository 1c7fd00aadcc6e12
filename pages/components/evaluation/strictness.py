"""Strictness of all searches: a slider with its costs, a preview of changed queries, and a button to apply it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import streamlit as st

from atlas import EmbeddingUnavailable, MemorySystem
from atlas.views.evaluation.own import LiveEvaluation
from atlas.views.evaluation.strictness import (
    ABOUT,
    DEFAULT_STRICTNESS,
    MOST,
    STEP,
    Curves,
    StrictnessPlan,
    StrictnessQuery,
    calibrated_curves,
    change_rows,
    change_sentence,
    curves_chart,
    loss_sentences,
    measured_curves,
    plan_sentence,
    strictness_caption,
    strictness_plan,
    strictness_queries,
)
from atlas.views.evaluation.verdict import TradeOff
from atlas.views.shared.state import StoreState
from pages.components.lists.editing import READ_ONLY
from pages.components.overview.parts import CHART
from pages.components.shared.jobs import live_result
from pages.components.shared.scope import draw_awaited
from pages.components.shared.snapshot import store_state
from pages.components.shared.undo_toast import announce, announcing_problems

COLUMNS = {
    "query": st.column_config.TextColumn("Query", width="large"),
    "before": st.column_config.TextColumn("Now", width=80),
    "after": st.column_config.TextColumn("Then", width=80),
    "relevance": st.column_config.NumberColumn("Relevance of the best", width=80, format="%.2f"),
    "best": st.column_config.TextColumn("Best hit", width="large"),
}

MAX_LOST = 5


def draw_strictness(memory: MemorySystem, suggested: float | None = None, trade: TradeOff | None = None) -> None:
    """Draw the answers by strictness with a slider, and the queries of the store whose answers its value changes.

    Args:
        memory: The memories.
        suggested: The strictness that the measurement advises, or None.
        trade: Where no strictness is advised, what the next stricter one would win and lose, or None.
    """
    now, slider = memory.strictness(), _slider(store_state(memory))
    chosen: float = st.session_state.setdefault(slider, now)
    measured = measured_curves(live_result(memory, LiveEvaluation).current())
    calibrated = {} if measured else _calibrated(store_state(memory), _memory=memory)
    curves = measured or calibrated
    st.markdown("##### What another strictness would change", help=ABOUT)
    if trade is not None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(trade.sentence, width="content")
            st.button(f"Try {trade.strictness:g}", key="evaluation_strictness_try", on_click=preview_strictness,
                      args=(memory, trade.strictness))  # fmt: skip
    else:
        st.caption(strictness_caption(measured, calibrated))
    with st.container(gap=None, key=f"evaluation_strictness_{'chart' if curves else 'alone'}"):
        if curves:
            chart = curves_chart(curves, now, suggested if suggested is not None and chosen == now else chosen)
            st.plotly_chart(chart, key="evaluation_curves", config=CHART, alt="Answers by strictness")
        st.slider("Try another strictness", 0.0, max(MOST, now), step=STEP, format="%.1f", key=slider,
                  label_visibility="collapsed" if curves else "visible")  # fmt: skip
    if chosen != now:
        _draw_plan(memory, chosen)
    elif now != DEFAULT_STRICTNESS:
        _draw_back(memory)


def _draw_plan(memory: MemorySystem, chosen: float) -> None:
    """Draw what another strictness changes for the store's own queries, and buttons that apply it or go back."""
    if draw_awaited(memory):
        return
    try:
        with st.spinner("Asking the store's own queries …"):
            plan = strictness_plan(memory, chosen, _asked(store_state(memory), _memory=memory))
    except EmbeddingUnavailable as error:  # the measured figures below can be read
        st.warning("What it would change cannot be shown.", icon=":material/error:")
        st.text(str(error))
        return
    st.text(plan_sentence(plan))
    _draw_loss(plan)
    with st.container(horizontal=True):
        _draw_apply(memory, plan)
        if plan.before != DEFAULT_STRICTNESS != plan.after:
            _draw_back(memory)
    if plan.changed:
        rows = [asdict(row) for row in change_rows(plan.changed)]
        st.dataframe(rows, column_config=COLUMNS, column_order=list(COLUMNS), hide_index=True,
                     key=f"evaluation_changed_{chosen}", alt="Queries that are answered otherwise")  # fmt: skip


def apply_strictness(memory: MemorySystem, plan: StrictnessPlan) -> None:
    """Apply a plan, and report it with Undo. Callback of a button."""
    with announcing_problems():
        announce(memory.apply_strictness(plan).id, change_sentence(plan))


def plan_and_apply_strictness(memory: MemorySystem, strictness: float) -> None:
    """Apply a strictness with its losses for the history, which take a second to find. Callback of a button."""
    with announcing_problems():
        apply_strictness(memory, strictness_plan(memory, strictness, _asked(store_state(memory), _memory=memory)))


def preview_strictness(memory: MemorySystem, strictness: float) -> None:
    """Show what a strictness changes. Callback of a button."""
    st.session_state[_slider(store_state(memory))] = strictness


def _slider(state: StoreState) -> str:
    """Return the key of the slider, which begins again at the present strictness when the store has changed."""
    return f"evaluation_strictness_{state.revision}"


def _draw_loss(plan: StrictnessPlan) -> None:
    """Draw how many tasks would lose their best record, and these records."""
    sentence, detail = loss_sentences(plan)
    if plan.lost:
        st.warning(sentence, icon=":material/heart_broken:")
    else:
        st.info(sentence, icon=":material/check:")
    for record in plan.lost[:MAX_LOST]:
        st.text(record.title)
    st.caption(detail)


def _draw_apply(memory: MemorySystem, plan: StrictnessPlan) -> None:
    """Draw the button that applies a plan."""
    st.button("Apply", key="evaluation_strictness_apply", type="primary", icon=":material/check:",
              disabled=memory.storage.read_only, help=_help(memory), on_click=apply_strictness,
              args=(memory, plan))  # fmt: skip


def _draw_back(memory: MemorySystem) -> None:
    """Draw the button that goes back to the measured level."""
    st.button("Back to the measured level", key="evaluation_strictness_calibrated", icon=":material/restart_alt:",
              disabled=memory.storage.read_only, help=_help(memory), on_click=plan_and_apply_strictness,
              args=(memory, DEFAULT_STRICTNESS))  # fmt: skip


def _help(memory: MemorySystem) -> str:
    return READ_ONLY if memory.storage.read_only else "Changes what agents find too. It can be undone."


@st.cache_data(max_entries=8, show_spinner=False)
def _calibrated(state: StoreState, *, _memory: Any) -> Curves:
    return calibrated_curves(_memory)


@st.cache_data(max_entries=8, show_spinner=False)
def _asked(state: StoreState, *, _memory: Any) -> tuple[StrictnessQuery, ...]:
    return strictness_queries(_memory)
