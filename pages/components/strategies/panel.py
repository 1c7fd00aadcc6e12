"""One strategy in full, as a panel beside the list."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import EmbeddingUnavailable, MemorySystem, NotFound
from atlas.views.journal.promotion import made_of
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.lists.facts import Badge, Head
from atlas.views.shared.state import StoreState, uses_seen
from atlas.views.shared.texts import Headline, Text
from atlas.views.shared.wording import percent
from atlas.views.strategies.charts import tries_caption, tries_chart, updater_estimates, updaters_chart
from atlas.views.strategies.steps import MAX_STEPS
from atlas.views.strategies.strategy import N_SIMILAR, EffectView, StrategyDetail, effect_view
from pages.components.lists.facts import draw_bar_line, draw_fact_table, draw_facts, draw_record_links
from pages.components.lists.panel import Finish, Panel, draw_sources
from pages.components.lists.uses import draw_uses
from pages.components.shared.snapshot import store_state
from pages.components.shared.texts import draw_prose

HOW_COUNTED = (
    "A use is an attempt that an agent made with the strategy, and whose outcome is known. The attempts that the "
    "strategy was learned from are no uses.",
    "The band around a rate is where the true rate lies with a probability of 95%. It narrows with each use. Agents "
    "get the strategy with the highest lower end first.",
    f"The similar attempts are those without it among the {N_SIMILAR:,} experiences nearest to its situation, also "
    "those that it was learned from. Agents that used a strategy were not chosen at random, so a difference can have "
    "other causes.",
)

LEAST_CHARTED = 8
"""Least number of uses from which a chart shows more than the list of them."""

CHART = {"displayModeBar": False, "scrollZoom": False}

PARAMETER_COLUMNS = {"name": "Parameter", "type": "Type", "description": "What it is", "example": "Example"}

_EFFECT = "strategy_effect"
"""Key of the effect that was found last, and of what it was found for."""


def draw_how_counted(*, key: str) -> None:
    """Draw what the figures of strategies mean, behind a button."""
    with st.popover("How is this counted?", icon=":material/help:", type="tertiary", key=key):
        for sentence in HOW_COUNTED:
            st.text(sentence)


def _head(detail: StrategyDetail) -> Head:
    record = detail.record
    worse = Badge(f"{record.verdict} than the others ({record.others})", "red")
    badge = Badge("retired", "gray") if detail.rate.retired else worse
    return Head(
        headline=Headline(title=detail.title.whole, rest=""),
        badges=(badge,) if detail.rate.retired or record.others else (),
        facts=detail.facts,
    )


def _draw_story(memory: MemorySystem, detail: StrategyDetail) -> Finish | None:
    """Draw what it says and how often it worked. Returns the comparison with similar tasks without it."""
    _draw_advice(detail)
    with st.container(gap="xsmall", key="opened_story"):
        verdict, rates = st.empty(), st.empty()
    key = (store_state(memory), uses_seen(memory, STRATEGY), detail.id)
    key_before, view = st.session_state.get(_EFFECT, (None, None))
    if key == key_before:  # found by an earlier run, so that nothing flickers
        _draw_effect(view, verdict, rates)
        return None
    verdict.markdown(f"**{detail.headline}**")
    if detail.used is None:
        return None
    with rates.container(gap="xsmall"):
        draw_bar_line("used", detail.used)
        st.caption("Looking for similar tasks without it …")

    def finish() -> None:
        try:
            found = _effect(*key, _memory=memory)
        except (EmbeddingUnavailable, NotFound):  # no similar task is found, and the rest can be read
            found = EffectView(verdict=detail.headline, rows=(detail.used,) if detail.used else ())
        st.session_state[_EFFECT] = (key, found)
        _draw_effect(found, verdict, rates)

    return finish


def _draw_effect(view: EffectView, verdict: DeltaGenerator, rates: DeltaGenerator) -> None:
    verdict.markdown(f"**{view.verdict}**")
    with rates.container(gap="xsmall"):
        for number, row in enumerate(view.rows):
            draw_bar_line(number, row)


@st.cache_data(max_entries=32, show_spinner=False)
def _effect(state: StoreState, n_uses: int, strategy_id: str, *, _memory: MemorySystem) -> EffectView:
    return effect_view(_memory, strategy_id)


def _draw_advice(detail: StrategyDetail) -> None:
    with st.container(gap="xsmall"):
        st.caption("When to apply it")
        draw_prose(detail.situation, key=f"strategy_situation_{detail.id}", names=_names(detail))
    with st.container(gap="xsmall"):
        st.caption("What to do")
        _draw_steps(detail)


def _draw_background(memory: MemorySystem, detail: StrategyDetail, is_open: bool) -> None:
    if detail.parameters:
        _draw_parameters(detail)
    if detail.rationale is not None:
        with st.container(gap="xsmall"):
            st.caption("Why it should work")
            draw_prose(detail.rationale, key=f"strategy_rationale_{detail.id}")
    for number, way in enumerate(detail.other_ways):
        with st.container(gap="xsmall"):
            st.caption("Another way that worked")
            draw_prose(way, key=f"strategy_way_{number}_{detail.id}")
    _draw_sources(memory, detail)
    draw_fact_table(detail.background, "From its writer")
    draw_facts(detail.more_facts, key=f"strategy_more_{detail.id}")


def _draw_parameters(detail: StrategyDetail) -> None:
    named = [
        {label: parameter[name] for name, label in PARAMETER_COLUMNS.items() if parameter.get(name)}
        for parameter in detail.parameters
    ]
    with st.container(gap="xsmall"):
        st.caption("What differs between the tasks")
        st.dataframe(named, hide_index=True, alt="Parameters")


def _draw_steps(detail: StrategyDetail) -> None:
    """Draw the suggestion step by step, or as one text if it has a single step or too many."""
    if detail.suggestion.is_long or not 1 < len(detail.steps.steps) <= MAX_STEPS:
        draw_prose(detail.suggestion, key=f"strategy_suggestion_{detail.id}", names=_names(detail))
        return
    if detail.steps.introduction:
        draw_prose(Text(detail.steps.introduction), key=f"strategy_introduction_{detail.id}")
    with st.container(gap="xsmall", key="strategy_steps"):
        for number, step in enumerate(detail.steps.steps, start=1):
            draw_prose(Text(f"{number}. {step}"), key=f"strategy_step_{number}_{detail.id}", names=_names(detail))


def _names(detail: StrategyDetail) -> list[str]:
    return [parameter["name"] for parameter in detail.parameters]


def _draw_evidence(memory: MemorySystem, detail: StrategyDetail, is_open: bool) -> None:
    """Draw a strategy's uses, and how its success rate changed with them."""
    draw_uses(memory, detail.attempts, key=f"strategy_uses_{detail.id}")
    if len(detail.attempts) >= LEAST_CHARTED:
        st.caption("Success rate after each use, with the range in which it likely lies")
        st.plotly_chart(tries_chart(detail.attempts), key=f"strategy_tries_{detail.id}", config=CHART,
                        alt=tries_caption(detail.attempts))  # fmt: skip
    draw_how_counted(key=f"strategy_how_{detail.id}")
    with st.expander("Other ways to estimate its rate", key=f"strategy_estimates_{detail.id}"):
        _draw_updaters(detail)


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
    if not detail.sources:
        return
    with st.container(gap="xsmall"):
        st.caption("Learned from")
        draw_sources(
            ((source.experience_id, source.outcome, source.title) for source in detail.sources), detail.n_more_sources
        )


PANEL = Panel(
    head=_head,
    draw_story=_draw_story,
    tabs={"Uses": _draw_evidence, "Reasons and sources": _draw_background},
    lacks=lambda detail, tab: tab == "Uses" and not detail.attempts,
)
