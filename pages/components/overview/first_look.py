"""The top of the overview: title, next steps, the effect of memory, and weak tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.charts.trend import trend_caption, trend_chart
from atlas.views.curate.health import Health
from atlas.views.curate.queues import DuplicatesResult
from atlas.views.lists.fitting import fitted
from atlas.views.overview.effect import COMPARED, NOT_CAUSED, EffectView, TaskRow, effect_view
from atlas.views.overview.randomised import BY_COIN, RandomisedView
from atlas.views.overview.weak_tasks import WeakTask, weak_tasks
from atlas.views.shared.state import StoreState, all_uses_seen
from atlas.views.shared.wording import counted
from pages.components.evaluation.own import draw_verdict
from pages.components.lists.record_table import (
    PADDING_PIXELS,
    ROW_PIXELS,
    WRAPPED_ROW_PIXELS,
    clicked_row,
    table_height,
)
from pages.components.overview.parts import CHART, RATE_COLUMNS, draw_domains, draw_health, rate_line
from pages.components.shared.narrowing import go_from_click
from pages.components.shared.snapshot import store_state

NAME = "ATLAS memory"
ABOUT = (
    "The long-term memory of your AI agents: every task they attempted, how it went, and what they learned from it. "
    "Explore it, ask it what an agent would be told, and clean it up."
)
STEPS = {
    "pages/map.py": ("Explore the map", ":material/scatter_plot:"),
    "pages/ask.py": ("Ask the memory", ":material/psychology_alt:"),
    "pages/curate.py": ("Review and clean up", ":material/cleaning_services:"),
}
"""Next steps, by page."""

TASK_PIXELS = 220
"""Width of the names of weak tasks."""

TASK_COLUMNS = {  # as wide together as half a page of 1440 pixels
    "task": st.column_config.TextColumn("Task", width=205),
    "used": st.column_config.TextColumn("With memory", help="Success rate of attempts that used memory", width=90),
    "not_used": st.column_config.TextColumn("Without", help="Success rate of attempts that used none", width=80),
    "difference": st.column_config.NumberColumn("Difference", format="%+.0f points", width=85),
}


def draw_steps() -> None:
    """Draw the next steps."""
    with st.container(horizontal=True, gap="medium", width="content"):
        for page, (label, icon) in STEPS.items():
            st.page_link(page, label=label, icon=icon, width="content")


def draw_answers(memory: MemorySystem, found: Health, duplicates: DuplicatesResult) -> None:
    """Draw the effect of memory, and beside it the weak tasks, the verdict on searches, and what needs attention."""
    helps, badly = st.columns(2, gap="medium")
    effect = _effect(store_state(memory), all_uses_seen(memory), _memory=memory)
    with helps:
        st.subheader("Does memory help?", anchor=False)
        draw_effect(effect)
        if len(effect.weeks) > 1:
            st.caption("Success at these tasks, by week:")
            chart, alt = trend_chart(effect.weeks), trend_caption(effect.weeks)
            st.plotly_chart(chart, key="overview_trend", config=CHART, alt=alt)
        if effect.rows:
            label = f"The {counted(effect.n_tasks, 'task')}, with and without memory"
            with st.expander(label, icon=":material/table_rows:"):
                _draw_tasks(effect.rows)
    with badly:
        st.subheader("What is the agent bad at?", anchor=False)
        if found.domains:
            draw_domains(found)
        else:
            draw_weak_tasks(_weak_tasks(store_state(memory), _memory=memory))
        draw_verdict(memory)
        draw_health(found, duplicates)


def draw_effect(view: EffectView) -> None:
    """Draw the number of tasks that went better with memories."""
    if view.randomised is not None:
        _draw_randomised(view.randomised)
    if view.verdict:
        st.markdown(f"**{view.verdict}** {view.grounds}")
    if view.n_tasks:
        st.caption(COMPARED)
        better, worse = view.labels
        with st.container(horizontal=True, gap="large"):
            st.metric(
                better,
                view.better,
                delta=view.interval or None,
                delta_color="off",
                delta_arrow="off",
                width="content",
            )
            st.metric(worse, view.worse, width="content")
            st.metric("No difference", view.alike, width="content")
        st.caption(f"{NOT_CAUSED} {view.selection}")
    if view.unused:
        st.caption(view.unused)
    if view.advice:
        st.info(view.advice, icon=":material/lightbulb:")


def _draw_randomised(view: RandomisedView) -> None:
    """Draw the outcomes of held-out attempts and of the others."""
    st.markdown(f"**{view.verdict}** {BY_COIN} {view.advice}")
    with st.container(horizontal=True, gap="large"):
        st.metric(
            "Effect of memory",
            view.difference,
            delta=view.interval,
            delta_color="off",
            delta_arrow="off",
            width="content",
        )
        st.metric("With memory", view.with_memory, width="content")
        st.metric("Held out", view.held_out, width="content")


def draw_weak_tasks(tasks: Sequence[WeakTask]) -> None:
    """Draw the tasks with the lowest success rates. A click opens an attempt."""
    if not tasks:
        st.caption("No task that was tried more than once has failed.")
        return
    caption = "Success rate by task, lowest first. Click a row to see its attempts."
    st.caption(f"{caption} Domains are listed once there is a map.")
    columns = {"name": st.column_config.TextColumn("Task", width=TASK_PIXELS), **RATE_COLUMNS}
    ids = tuple(task.experience_id for task in tasks)
    rows = [rate_line(task) | {"name": fitted(task.name, 2 * (TASK_PIXELS - PADDING_PIXELS))} for task in tasks]
    alt = "Tasks with the lowest success rate"
    _draw_rows(rows, columns, ids, key="overview_weak", alt=alt, row_pixels=WRAPPED_ROW_PIXELS)


def _draw_tasks(rows: Sequence[TaskRow]) -> None:
    st.caption("Click a task to see its attempts.")
    ids = tuple(row.experience_id for row in rows)
    _draw_rows([asdict(row) for row in rows], TASK_COLUMNS, ids, key="overview_effect", alt="Tasks with and without")


def _draw_rows(
    rows: Sequence[dict[str, Any]],
    columns: Mapping[str, Any],
    ids: tuple[str, ...],
    *,
    key: str,
    alt: str,
    row_pixels: int = ROW_PIXELS,
) -> None:
    key = f"{key}_{hash(ids)}"
    st.dataframe(
        rows,
        column_config=columns,
        column_order=list(columns),
        hide_index=True,
        key=key,
        on_select=partial(_open_task, ids, key),
        selection_mode="single-cell",
        row_height=row_pixels,
        height=table_height(len(rows), row_pixels=row_pixels),
        alt=alt,
    )


def _open_task(ids: tuple[str, ...], key: str) -> None:
    row = clicked_row(key, len(ids))
    if row is not None and ids[row]:
        go_from_click("pages/experiences.py", id=ids[row])


@st.cache_data(max_entries=8, show_spinner=False)
def _effect(state: StoreState, n_uses: int, *, _memory: MemorySystem) -> EffectView:
    return effect_view(_memory)


@st.cache_data(max_entries=8, show_spinner=False)
def _weak_tasks(state: StoreState, *, _memory: MemorySystem) -> tuple[WeakTask, ...]:
    return weak_tasks(_memory)
