"""The top of the overview: title, next steps, the effect of memory, and weak tasks."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.charts.trend import trend_caption, trend_chart
from atlas.views.curate.health import Health
from atlas.views.curate.queues import DuplicatesResult
from atlas.views.kinds.columns import Column
from atlas.views.lists.rate_rows import RATE_COLUMNS, rate_row
from atlas.views.overview.effect import COMPARED, LIKELY_MEANS, NOT_CAUSED, EffectView, TaskRow, effect_view
from atlas.views.overview.randomised import BY_COIN, RandomisedView
from atlas.views.overview.summary import Overview
from atlas.views.overview.weak_tasks import WeakTask, weak_tasks
from atlas.views.shared.state import StoreState, all_uses_seen
from atlas.views.shared.wording import counted
from pages.components.evaluation.own import draw_verdict
from pages.components.lists.record_table import plain_table
from pages.components.overview.parts import CHART, draw_domains, draw_health, draw_remembered
from pages.components.shared.narrowing import go_from_click
from pages.components.shared.snapshot import store_state

NAME = "ATLAS memory"
ABOUT = (
    "The long-term memory of your AI agents: every task they attempted, how it went, and what they learned from it. "
    "Explore it, ask it what an agent would be told, and clean it up."
)
STEPS = {
    "pages/map.py": ("Explore the map", ":material/scatter_plot:", "What agents work on, and where they fail."),
    "pages/ask.py": ("Ask the memory", ":material/psychology_alt:", "What an agent is told for a task, and why."),
    "pages/curate.py": ("Review and clean up", ":material/cleaning_services:", "The records that need a decision."),
}
"""Next steps, by page, with what a person finds there."""

TREND, POOLED = (
    "Success rate of all attempts at these tasks so far, with 95 % intervals.",
    "Each attempt counts the same here, and each task in the averages above, so the two differ a little.",
)
"""The caption of the chart, and how its rates differ from the averages."""

TASK_COLUMNS = (
    Column("task", "Task", 240),
    Column("used", "With memory", 80, help_text="Success rate of attempts that used memory"),
    Column("not_used", "Without", 68, help_text="Success rate of attempts that used none"),
)


def draw_steps() -> None:
    """Draw the next steps."""
    for column, (page, (label, icon, about)) in zip(st.columns(len(STEPS), gap="small"), STEPS.items(), strict=True):
        with column.container(border=True, height="stretch", gap=None, key=f"overview_step_{icon[10:-1]}"):
            st.page_link(page, label=f"**{label}**", icon=icon)
            st.caption(about)


def draw_answers(memory: MemorySystem, view: Overview, found: Health, duplicates: DuplicatesResult) -> None:
    """Draw the effect of memory, and beside it the weak tasks, the verdict on searches, and what needs attention.

    What is remembered stands below both, or below the effect if that is only advice.
    """
    helps, badly = st.columns(2, gap="medium")
    effect = _effect(store_state(memory), all_uses_seen(memory), _memory=memory)
    with helps:
        st.subheader("Does memory help?", anchor=False)
        draw_effect(effect)
        if not effect.n_tasks:
            draw_remembered(view)
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
    if effect.n_tasks:
        draw_remembered(view)


def draw_effect(view: EffectView) -> None:
    """Draw the number of tasks that went better with memories."""
    if view.randomised is not None:
        _draw_randomised(view.randomised)
    if view.verdict:
        st.markdown(f"**{view.verdict}** {view.grounds}")
    if view.n_tasks:
        st.caption(COMPARED)
        better, worse = view.labels
        with st.container(horizontal=True, gap="medium"):
            st.metric(
                better,
                view.better,
                delta=view.interval or None,
                delta_color="off",
                delta_arrow="off",
                width="content",
                help=LIKELY_MEANS,
            )
            st.metric(worse, view.worse, width="content")
            st.metric("No difference", view.alike, width="content")
        _draw_trend(view)
        st.caption(" ".join(filter(None, [NOT_CAUSED, view.selection])))
    if view.unused:
        st.caption(view.unused)
    if view.advice:
        st.info(view.advice, icon=":material/lightbulb:")


def _draw_trend(view: EffectView) -> None:
    """Draw how all attempts at the compared tasks went so far."""
    if len(view.weeks) > 1:
        st.caption(TREND, help=POOLED)
        chart, alt = trend_chart(view.weeks), trend_caption(view.weeks)
        st.plotly_chart(chart, key="overview_trend", config=CHART, alt=alt)


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
    plain_table(
        [rate_row(task, task.experience_id) for task in tasks],
        columns=(Column("name", "Task", 240), *RATE_COLUMNS),
        key="overview_weak",
        label="Tasks with the lowest success rate",
        on_opened=_open_task,
    )


def _draw_tasks(rows: Sequence[TaskRow]) -> None:
    st.caption("Click a task to see its attempts.")
    plain_table(rows, columns=TASK_COLUMNS, key="overview_effect", label="Tasks with and without", on_opened=_open_task)


def _open_task(experience_id: str) -> None:
    go_from_click("pages/experiences.py", id=experience_id)


@st.cache_data(max_entries=8, show_spinner=False)
def _effect(state: StoreState, n_uses: int, *, _memory: MemorySystem) -> EffectView:
    return effect_view(_memory)


@st.cache_data(max_entries=8, show_spinner=False)
def _weak_tasks(state: StoreState, *, _memory: MemorySystem) -> tuple[WeakTask, ...]:
    return weak_tasks(_memory)
