"""One strategy in full, as a panel beside the list."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.promotion import made_of
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import percent
from atlas.views.strategies.charts import tries_caption, tries_chart, updater_estimates, updaters_chart
from atlas.views.strategies.steps import MAX_STEPS
from atlas.views.strategies.strategy import (
    MAX_ATTEMPTS,
    StrategyDetail,
    attempt_rows,
    effect_view,
)
from pages.components.lists.facts import draw_fact_table, draw_facts, draw_record_links
from pages.components.lists.listing import SEARCHING
from pages.components.lists.panel import Panel, draw_sources
from pages.components.lists.record_table import clicked_row, table_height
from pages.components.shared.narrowing import go_from_click
from pages.components.shared.texts import draw_prose
from pages.components.strategies.retirement import draw_retire

HOW_COUNTED = (
    "A use is an attempt that an agent made with the strategy, and whose outcome is known. The attempts that the "
    "strategy was learned from are no uses.",
    "The band around a rate is where the true rate lies with a probability of 95 %. It narrows with each use. Agents "
    "get the strategy with the highest lower end first.",
    "Agents that used a strategy were not chosen at random, so a difference to other attempts can have other causes. "
    "The attempts that it was learned from are among those without it.",
)

CHART = {"displayModeBar": False, "scrollZoom": False}

ATTEMPT_COLUMNS = {
    "number": st.column_config.NumberColumn("Use", format="localized", width=45),
    "outcome": st.column_config.TextColumn("Outcome", width=105),
    "at": st.column_config.DatetimeColumn("When (UTC)", format="D MMM YYYY, HH:mm", width=130, timezone="UTC"),
    "task": st.column_config.TextColumn("Task", width=280),
    "actor": st.column_config.TextColumn("Who", width=90),
}
PARAMETER_COLUMNS = {"name": "Parameter", "type": "Type", "description": "What it is", "example": "Example"}
EFFECT_COLUMNS = {
    "what": st.column_config.TextColumn("Attempts", width=170),
    "succeeded": st.column_config.TextColumn("Succeeded", width=120),
    "n": st.column_config.NumberColumn("n", format="localized", width=50),
    "bar": st.column_config.ImageColumn("Rate, 0 to 100 %", width=140),
}


def draw_how_counted(*, key: str) -> None:
    """Draw what the figures of strategies mean, behind a button."""
    with st.popover("How is this counted?", icon=":material/help:", type="tertiary", key=key):
        for sentence in HOW_COUNTED:
            st.text(sentence)


def _draw_acts(memory: MemorySystem, detail: StrategyDetail) -> None:
    draw_retire(memory, [detail.id], key="strategy_retire", is_retired=bool(detail.rate.retired))


def _draw_head(memory: MemorySystem, detail: StrategyDetail) -> None:
    with st.container(key="opened_title"):
        draw_prose(detail.title, key=f"strategy_title_{detail.id}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{detail.headline}**", width="content")
        if detail.bar:
            st.image(detail.bar)
            st.caption(detail.record.range, width="content")
    draw_facts(detail.facts, key=f"strategy_{detail.id}")


def _draw_content(memory: MemorySystem, detail: StrategyDetail, is_open: bool) -> None:
    st.caption("When to apply it")
    draw_prose(detail.situation, key=f"strategy_situation_{detail.id}")
    st.caption("What to do")
    _draw_steps(detail)
    if detail.parameters:
        st.caption("What differs between the tasks")
        named = [
            {label: parameter[name] for name, label in PARAMETER_COLUMNS.items() if parameter.get(name)}
            for parameter in detail.parameters
        ]
        st.dataframe(named, hide_index=True, alt="Parameters")
    if detail.rationale is not None:
        st.caption("Why it should work")
        draw_prose(detail.rationale, key=f"strategy_rationale_{detail.id}")
    for number, way in enumerate(detail.other_ways):
        st.caption("Another way that worked")
        draw_prose(way, key=f"strategy_way_{number}_{detail.id}")
    draw_fact_table(detail.background, "From its writer")
    _draw_sources(memory, detail)
    draw_facts(detail.more_facts, key=f"strategy_more_{detail.id}")


def _draw_steps(detail: StrategyDetail) -> None:
    """Draw the suggestion step by step, or as one text if it has a single step or too many."""
    if detail.suggestion.is_long or not 1 < len(detail.steps.steps) <= MAX_STEPS:
        draw_prose(detail.suggestion, key=f"strategy_suggestion_{detail.id}")
        return
    if detail.steps.introduction:
        draw_prose(Text(detail.steps.introduction), key=f"strategy_introduction_{detail.id}")
    with st.container(gap="xsmall"):
        for number, step in enumerate(detail.steps.steps, start=1):
            draw_prose(Text(f"{number}. {step}"), key=f"strategy_step_{number}_{detail.id}")


def _draw_evidence(memory: MemorySystem, detail: StrategyDetail, is_open: bool) -> None:
    """Draw a strategy's uses, their baseline, and other estimates of its success rate."""
    _draw_tries(memory, detail)
    if not detail.attempts:
        return
    draw_how_counted(key=f"strategy_how_{detail.id}")
    if is_open:  # the first search for similar tasks takes seconds
        st.caption("With it and without it")
        _draw_effect(memory, detail)
    with st.expander("Other ways to estimate its rate", key=f"strategy_estimates_{detail.id}"):
        _draw_updaters(detail)


def _draw_tries(memory: MemorySystem, detail: StrategyDetail) -> None:
    if not detail.attempts:
        st.caption(
            "It has not been tried yet. A use is an attempt that an agent made with it and whose outcome is known."
        )
        return
    key = f"strategy_tries_{detail.id}"
    st.plotly_chart(tries_chart(detail.attempts), key=key, config=CHART, alt=tries_caption(detail.attempts))
    rows = attempt_rows(memory, detail.attempts)
    n_more = len(detail.attempts) - MAX_ATTEMPTS
    st.caption("Newest first; click one to open what is remembered of it." if n_more <= 0
               else f"The newest {MAX_ATTEMPTS:,} of {len(detail.attempts):,}; click one to open it.")  # fmt: skip
    ids = tuple(row.experience_id for row in rows)
    table = f"{key}_table_{len(detail.attempts)}"
    st.dataframe([asdict(row) for row in rows], column_config=ATTEMPT_COLUMNS, column_order=list(ATTEMPT_COLUMNS),
                 hide_index=True, key=table, on_select=partial(_open_attempt, ids, table),
                 selection_mode="single-cell", height=table_height(len(rows)), alt="Tries")  # fmt: skip


def _open_attempt(ids: tuple[str, ...], key: str) -> None:
    row = clicked_row(key, len(ids))
    if row is not None and ids[row]:
        go_from_click("pages/experiences.py", id=ids[row])


def _draw_effect(memory: MemorySystem, detail: StrategyDetail) -> None:
    with st.spinner(SEARCHING):
        view = effect_view(memory, detail.id)
    st.markdown(f"**{view.verdict}**")
    st.dataframe([asdict(row) for row in view.rows], column_config=EFFECT_COLUMNS, column_order=list(EFFECT_COLUMNS),
                 hide_index=True, alt="With it and without it")  # fmt: skip


def _draw_updaters(detail: StrategyDetail) -> None:
    estimates = updater_estimates(detail.attempts)
    estimates_text = ", ".join(f"{name}: {percent(rate)}" for name, rate in estimates)
    st.plotly_chart(
        updaters_chart(detail.attempts), key=f"strategy_updaters_{detail.id}", config=CHART, alt=estimates_text
    )
    st.dataframe([{"Way of estimating": name, "Rate": percent(rate)} for name, rate in estimates],
                 hide_index=True, alt=estimates_text)  # fmt: skip


def _draw_sources(memory: MemorySystem, detail: StrategyDetail) -> None:
    draw_record_links(made_of(memory, STRATEGY, detail.id), "Promoted from")
    st.caption("Where it comes from")
    if not detail.sources:
        st.caption("It names no source attempts.")
    draw_sources(
        ((source.experience_id, source.outcome, source.title) for source in detail.sources), detail.n_more_sources
    )


PANEL = Panel(
    draw_acts=_draw_acts,
    draw_head=_draw_head,
    tabs={"What to do": _draw_content, "Does it work": _draw_evidence},
)
