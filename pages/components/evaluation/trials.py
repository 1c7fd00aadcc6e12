"""The report of a trial that a person uploads, with both conversations of each task won or lost."""

from __future__ import annotations

import streamlit as st

from atlas import AtlasError
from atlas.views.evaluation.trial_tasks import (
    NOTES,
    TRIAL_COMMAND,
    ArmComparison,
    TrialReport,
    arm_rows,
    comparison_rows,
    differing_tasks,
    failure_lines,
    head,
    traces_as_json,
    trial_of,
)
from pages.components.experience.trace import current_reading, draw_trace

_TRACES = "evaluation_trial_traces"


def draw_trials() -> None:
    """Draw the choice of a report, and the chosen one."""
    st.caption("A trial runs a command of yours on the same tasks with and without memory. Start it in a terminal:")
    st.code(TRIAL_COMMAND, language=None, wrap_lines=True)
    file = st.file_uploader("Report of a trial (JSON)", type="json", key="evaluation_trial")
    if file is None:
        return
    try:
        report = _report(file.getvalue())
    except AtlasError as error:
        st.warning("This is not the report of a trial.", icon=":material/warning:")
        st.text(str(error))
        return
    st.text(head(report))
    for line in failure_lines(report):
        st.warning("Every run ended with an error.", icon=":material/warning:")
        st.text(line)
    st.subheader("Arms", anchor=False)
    st.dataframe(arm_rows(report), hide_index=True, alt="Success rate of each arm")
    st.subheader("Comparisons on the same tasks", anchor=False)
    st.dataframe(comparison_rows(report), hide_index=True, alt="Differences between arms on the same tasks")
    for note in NOTES:
        st.caption(note)
    _draw_tasks(report)


@st.cache_data(max_entries=4, show_spinner=False)
def _report(content: bytes) -> TrialReport:
    return trial_of(content)


def _draw_tasks(report: TrialReport) -> None:
    st.subheader("Tasks won and lost", anchor=False)
    comparisons = [comparison for comparison in report.comparisons if comparison.won or comparison.lost]
    if not comparisons:
        st.caption("No task went better with one arm than with another.")
        return
    comparison = st.selectbox("Arms", comparisons, format_func=_name, key="evaluation_trial_arms")
    task = st.selectbox("Task", differing_tasks(report, comparison), format_func=lambda task: task.label,
                        key=f"evaluation_trial_task_{_name(comparison)}")  # fmt: skip
    of = f"{_name(comparison)} {task.position}"
    data = traces_as_json(report, comparison, task.position, current_reading(_TRACES, of))
    draw_trace(data, trace_id=of, key=_TRACES)


def _name(comparison: ArmComparison) -> str:
    return f"{comparison.first} − {comparison.second}"
