"""Evaluation of a store's searches on its own attempts."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.curate.attention import AttentionRow, search_row
from atlas.views.evaluation.charts import measured_chart
from atlas.views.evaluation.own import (
    QUERIES,
    LiveEvaluation,
    OwnEvaluation,
    Prospects,
    is_outdated,
    is_unreadable,
    meaning,
    measure_row,
    measures_on,
    simpler_searches,
    table_rows,
)
from atlas.views.evaluation.strictness import HOW_SURE
from atlas.views.evaluation.verdict import (
    GIVEN_MEANS,
    MARKS_MEAN,
    RULE,
    Stricter,
    Verdict,
    figures,
    nearby_sentence,
    stricter,
    trade_off,
    verdict,
)
from atlas.views.kinds.columns import Column
from atlas.views.shared.rates import LIKELY_MEANS
from pages.components.evaluation.measuring import draw_measured, draw_run, measurable
from pages.components.evaluation.misses import draw_misses
from pages.components.evaluation.strictness import draw_strictness, plan_and_apply_strictness, preview_strictness
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.record_table import plain_table
from pages.components.overview.parts import CHART
from pages.components.shared.jobs import is_running, live_result

_OF = dict(zip(QUERIES, ("", "_judged"), strict=True))
"""Suffixes of the widget keys for each kind of query."""

ABOUT = (
    "Own attempts: each attempt at a task that was tried more than once is left out, and a search for its task should "
    "find another one first. Judged queries: on Ask, people marked hits as right or wrong. Off-topic questions: they "
    "are about other subjects, so the right answer is nothing."
)
FIGURES = (
    Column("label", "Measured", 280, help_text=ABOUT),
    Column("rate", "Result", 104, "meter"),
    Column("counts", "", 140),
    Column("mark", "Verdict", 92, "badge", help_text=MARKS_MEAN),
    Column("interval", "Likely", 80, help_text=LIKELY_MEANS),
    Column(
        "given", "Reaches the agent", 145, help_text=GIVEN_MEANS, is_optional=True, empty="–",
        empty_means="Not measured, or there is no right memory to be given.",
    ),
    Column(
        "by_keywords", "Keyword search", 130, help_text="The result of a search by keywords alone.",
        is_optional=True, empty="–", empty_means="A search by keywords hides nothing, so it was not asked these.",
    ),
)  # fmt: skip
COMPARED = (
    Column("name", "Search", 170),
    Column("rate", "First hit is right", 240, "meter"),
    Column("interval", "Likely", 80, help_text=LIKELY_MEANS),
    Column(
        "difference", "Difference", 210, help_text="On the same attempts, before hits are hidden. There is no "
        "clear difference if the 95% interval contains 0.", is_optional=True,
    ),
    Column(
        "off_topic", "Off-topic answered", 140, help_text="Share of off-topic questions that get an answer. Less is "
        "better. Only the search of agents was asked them: the others hide nothing.", is_optional=True,
    ),
)  # fmt: skip


def draw_own(memory: MemorySystem) -> None:
    """Draw the verdict and its figures, a button that measures again or its progress, and all figures."""
    prospects = measurable(memory)
    live = live_result(memory, LiveEvaluation)
    if prospects.can_run:
        live.keep_up()
    else:
        st.info(f"{prospects.sentence} {prospects.hint}", icon=":material/info:")
    evaluation = _readable(live)
    if evaluation is not None:
        draw_verdict(memory, evaluation)
        draw_rates(evaluation, memory.strictness())
        _draw_measuring(memory, prospects, evaluation)
        draw_evaluation(memory, evaluation)
        return
    if prospects.can_run:
        is_first = is_running(live)
        st.subheader("Search is measured for the first time." if is_first else "Not measured yet.", anchor=False)
        st.text(prospects.sentence)
        _draw_measuring(memory, prospects, None)
    draw_strictness(memory)


def _readable(live: LiveEvaluation) -> OwnEvaluation | None:
    """Return the current measurement, with a warning if it cannot be read."""
    evaluation = live.current()
    is_lost = (live.saved().written_at and evaluation is None) or (evaluation is not None and is_unreadable(evaluation))
    if is_lost:
        st.warning("What was measured here before cannot be read. Measure again.", icon=":material/error:")
    return None if is_lost else evaluation


def _draw_measuring(memory: MemorySystem, prospects: Prospects, evaluation: OwnEvaluation | None) -> None:
    """Draw when the store was measured, with a button that measures again, and how this is counted."""
    with st.container(horizontal=True, vertical_alignment="center", key="evaluation_measured"):
        if evaluation is not None:
            draw_measured(memory, evaluation)
        if prospects.can_run:
            draw_run(memory)
        draw_how_counted(prospects)


def draw_verdict(memory: MemorySystem, evaluation: OwnEvaluation) -> None:
    """Draw the verdict with its advice.

    An outdated measurement advises nothing, as its figures are of other searches.
    """
    conclusion = verdict(evaluation, memory.strictness())
    if conclusion is None:
        return
    st.subheader(conclusion.headline, anchor=False)
    if not is_outdated(memory, evaluation):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="evaluation_finding"):
            st.text(conclusion.finding, width="content")
            draw_advice(conclusion)


def draw_rates(evaluation: OwnEvaluation, strictness: float) -> None:
    """Draw the figures behind the verdict."""
    if rows := figures(evaluation, strictness):
        plain_table(rows, columns=FIGURES, key="evaluation_rates", label="Figures of the measurement")
        if nearby := nearby_sentence(evaluation, strictness):
            st.caption(nearby)


def _draw_stricter(memory: MemorySystem, better: Stricter) -> None:
    """Draw what a stricter search changes, with buttons that try and apply it."""
    disabled = memory.storage.read_only
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="evaluation_advice"):
        with st.container(gap="xxsmall"):
            change = f"Strictness {memory.strictness():g} → {better.strictness:g}"
            st.markdown(
                f"**{change}**: off-topic answered {better.off_topic}, first hit right {better.first_right}, "
                f"for your judged queries {better.judged_right}"
            )
            st.caption(HOW_SURE)
        st.button("Make it stricter", key="evaluation_stricter", type="primary", icon=":material/check:",
                  disabled=disabled, on_click=plan_and_apply_strictness, args=(memory, better.strictness),
                  help=READ_ONLY if disabled else "For all searches, also of agents. It can be undone.")  # fmt: skip
        st.button("Preview", key="evaluation_stricter_preview", help="Shows what would be answered otherwise.",
                  on_click=preview_strictness, args=(memory, better.strictness))  # fmt: skip


def draw_advice(conclusion: Verdict) -> None:
    """Draw a link to the part of the page where the advice of a verdict can be followed, if that is another one."""
    if conclusion.part:
        label, part = conclusion.advice.rstrip("."), {"evaluation_tab": conclusion.part}
        st.page_link(
            "pages/evaluation.py", label=label, icon=":material/arrow_forward:", query_params=part, width="content"
        )


def draw_evaluation(memory: MemorySystem, evaluation: OwnEvaluation) -> None:
    """Draw the answers by strictness, the judged queries that fail, and all figures of a measurement."""
    now = memory.strictness()
    better = None if is_outdated(memory, evaluation) else stricter(evaluation, now)
    if better is not None:
        _draw_stricter(memory, better)
    draw_strictness(
        memory,
        better.strictness if better is not None else None,
        trade_off(evaluation, now) if not is_outdated(memory, evaluation) else None,
    )
    draw_misses(memory, evaluation.report.missed)
    with st.expander("All figures", key="evaluation_figures"):
        if compared := simpler_searches(evaluation, now):
            st.markdown("**Compared with simpler searches**")
            plain_table(compared, columns=COMPARED, key="evaluation_simpler", label="First hit by search method")
        st.markdown("**All searches, as they were when this was measured**")
        draw_figures(evaluation)


def draw_figures(evaluation: OwnEvaluation) -> None:
    """Draw every measure of every search method, one of them as a chart."""
    task_name = draw_queries(evaluation)
    measures = measures_on(evaluation, task_name)
    measure = st.segmented_control(
        "Measure", measures, default=measures[0], required=True, key=f"evaluation_measure{_OF[task_name]}"
    )
    by_search = measure_row(evaluation, measure or measures[0], task_name)
    if by_search is not None:
        st.caption(f"{meaning(measure or measures[0], task_name)} {by_search.caption}")
        st.plotly_chart(
            measured_chart(by_search, task_name),
            key="evaluation_chart",
            config=CHART,
            alt=f"{measure} by search method",
        )
    columns = {
        "setting": st.column_config.TextColumn("", width="medium", pinned=True),
        **{name: st.column_config.TextColumn(name, width=150, help=meaning(name, task_name)) for name in measures},
    }
    st.dataframe(
        table_rows(evaluation, task_name),
        column_config=columns,
        column_order=list(columns),
        hide_index=True,
        key=f"evaluation_table{_OF[task_name]}_{evaluation.measured_at}",
        alt="Every measure of every search method",
    )


def draw_how_counted(prospects: Prospects) -> None:
    """Draw what the figures mean, behind a button."""
    with st.popover("How is this counted?", icon=":material/help:", type="tertiary", key="evaluation_how"):
        for sentence in filter(
            None, (ABOUT, f"Now: {prospects.sentence}", LIKELY_MEANS, MARKS_MEAN, RULE, prospects.hint)
        ):
            st.text(sentence)
        st.text("On runs whose answers are known from their source, or on queries that people judged:")
        st.code("atlas evaluate PATH", language=None)


def draw_queries(evaluation: OwnEvaluation) -> str:
    """Draw the choice of queries, unless there is only one kind."""
    tasks = [task_name for task_name in QUERIES if measures_on(evaluation, task_name)]
    if len(tasks) == 1:
        return tasks[0]
    chosen = st.segmented_control(
        "Measured on",
        tasks,
        format_func=QUERIES.__getitem__,
        default=tasks[0],
        required=True,
        key="evaluation_queries",
    )
    return chosen or tasks[0]


def search_problem(memory: MemorySystem) -> AttentionRow | None:
    """Return what searches do badly, or None. If the store has grown much, a new measurement is started."""
    if not measurable(memory).can_run:
        return None
    live = live_result(memory, LiveEvaluation)
    live.keep_up()
    evaluation = live.current()
    if evaluation is None or is_unreadable(evaluation) or is_outdated(memory, evaluation):
        return None
    return search_row(evaluation, memory.strictness())
