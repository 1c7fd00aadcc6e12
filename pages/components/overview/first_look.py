"""The top of the overview: the effect of memory, and weak domains or tasks."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.charts.split import split_bar
from atlas.views.curate.health import Health
from atlas.views.kinds.columns import Column
from atlas.views.lists.rate_rows import RATE_COLUMNS, rate_row
from atlas.views.overview.effect import HOW_TO_RECORD, EffectView, TaskRow, effect_view
from atlas.views.overview.randomised import BY_COIN, RandomisedView
from atlas.views.overview.summary import Overview
from atlas.views.overview.weak_tasks import WeakTask, weak_tasks
from atlas.views.shared.rates import LIKELY_MEANS
from atlas.views.shared.state import StoreState, all_uses_seen
from atlas.views.shared.wording import counted
from pages.components.ask.proof import draw_example
from pages.components.lists.record_table import plain_table
from pages.components.overview.parts import draw_domains
from pages.components.shared.narrowing import go_from_click
from pages.components.shared.snapshot import store_state

ABOUT = "The long-term memory of your AI agents: every task they attempted, how it went, and what they learned from it."

WEAK_MEANS = "Click one to see its attempts. Domains are listed instead once there is a map."

TASK_COLUMNS = (
    Column("task", "Task", 240),
    Column("used", "With memory", 80, help_text="Success rate of attempts that used memory"),
    Column("not_used", "Without", 68, help_text="Success rate of attempts that used none"),
)


def draw_answers(memory: MemorySystem, view: Overview, health: Health) -> None:
    """Draw the effect of memory, and beside it what the agent is bad at."""
    with st.container(key="halves_overview"):
        left, right = st.columns(2, gap="medium")
    effect = current_effect(memory)
    with left.container(gap="xsmall"):
        st.markdown("##### Does memory help?")
        draw_effect(memory, effect)
    with right.container(gap="xsmall"):
        st.markdown("##### What is the agent bad at?")
        _draw_weaknesses(memory, view, health)


def _draw_weaknesses(memory: MemorySystem, view: Overview, health: Health) -> None:
    """Draw the domains with the lowest success rates, or tasks without a map, or that no outcome is known."""
    if not view.rate.n_known:
        st.caption("This is shown once outcomes are known. Curate lists the attempts without one.")
    elif health.domains:
        draw_domains(health)
    else:
        draw_weak_tasks(_weak_tasks(store_state(memory), _memory=memory))


def draw_effect(memory: MemorySystem, view: EffectView) -> None:
    """Draw whether memory helps, and how often tasks succeeded without memory and with it."""
    if view.randomised is not None:
        _draw_randomised(view.randomised)
        if view.n_tasks:
            st.markdown("**Observed, not randomised**")
    else:
        st.markdown(f"**{view.verdict or 'Not known yet.'}**")
    if view.missing:
        st.caption(f"{view.missing} {HOW_TO_RECORD}")
    if view.n_tasks:
        _draw_comparison(memory, view)
    if view.unused:
        st.caption(view.unused)


def _draw_comparison(memory: MemorySystem, view: EffectView) -> None:
    """Draw the success rates, at how many tasks they differ, an example, and all tasks."""
    st.caption(view.comparison, help=LIKELY_MEANS if view.grounds else None)
    st.html(split_bar(view.parts))
    draw_example(memory)
    st.caption(view.caution, help=" ".join(filter(None, [view.grounds, view.selection])))
    with st.expander(f"The {counted(view.n_tasks, 'task')}, with and without memory"):
        _draw_tasks(view.rows)


def _draw_randomised(view: RandomisedView) -> None:
    """Draw whether memory helps, and the outcomes of held-out attempts and of the others."""
    st.markdown(f"**{view.verdict}**")
    st.caption(f"{BY_COIN} {view.advice}")
    with st.container(horizontal=True, gap="large"):
        st.metric(
            "Effect of memory",
            view.difference,
            delta=view.interval,
            delta_color="off",
            delta_arrow="off",
            width="content",
            help=LIKELY_MEANS,
        )
        st.metric("With memory", view.with_memory, width="content")
        st.metric("Held out", view.held_out, width="content")


def draw_weak_tasks(tasks: Sequence[WeakTask]) -> None:
    """Draw the tasks with the lowest success rates. A click opens an attempt."""
    if not tasks:
        st.caption("No task that was tried more than once has failed.")
        return
    st.caption("The tasks with the lowest success rates", help=WEAK_MEANS)
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


def current_effect(memory: MemorySystem) -> EffectView:
    """Return the effect of memory, as the store is now."""
    return _effect(store_state(memory), all_uses_seen(memory), _memory=memory)


@st.cache_data(max_entries=8, show_spinner=False)
def _effect(state: StoreState, n_uses: int, *, _memory: MemorySystem) -> EffectView:
    return effect_view(_memory)


@st.cache_data(max_entries=8, show_spinner=False)
def _weak_tasks(state: StoreState, *, _memory: MemorySystem) -> tuple[WeakTask, ...]:
    return weak_tasks(_memory)
