"""A selection of experiences: showing or comparing them, and saying how they ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.experience.outcomes import OutcomeRequest
from atlas.views.experience.selection import (
    COMPARED,
    LISTED,
    ComparisonColumn,
    comparison_columns,
    selection_rows,
)
from atlas.views.lists.selection import SelectionSummary
from atlas.views.shared.wording import counted
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.plans import draw_proposing
from pages.components.shared.texts import draw_code, draw_prose

LIST_COLUMNS = {
    "outcome": st.column_config.TextColumn("Outcome", width=110),
    "task": st.column_config.TextColumn("Task", width="large"),
}


_SHOW = "tray_show"

ICONS = {"Succeeded": ":material/check:", "Failed": ":material/close:", "Unknown": ":material/question_mark:"}
OUTCOMES = {"Succeeded": True, "Failed": False, "Unknown": None}


def draw_outcomes(memory: MemorySystem, now: SelectionSummary) -> None:
    """Draw the buttons that set the outcome of the selected attempts, behind one of their own."""
    disabled = memory.storage.read_only
    with st.popover("Outcome", key="tray_outcome", icon=":material/flag:", disabled=disabled or not now.ids,
                    help=READ_ONLY if disabled else None):  # fmt: skip
        st.caption("How did these attempts end? You first see what would change.")
        for name, success in OUTCOMES.items():
            draw_proposing(memory, f"{name} …", OutcomeRequest(ids=now.ids, success=success),
                           key=f"tray_outcome_{name.lower()}", icon=ICONS[name], help_text="")  # fmt: skip


def is_looking() -> bool:
    """Return whether a selection is being shown in a dialog."""
    return bool(st.session_state.get(_SHOW))


def draw_looking(memory: MemorySystem, now: SelectionSummary, is_planning: bool) -> None:
    """Draw the button that lists a selection, or shows a few side by side."""
    is_few = 1 < len(now.ids) <= COMPARED
    label, icon = ("Compare", ":material/compare:") if is_few else ("Show", ":material/list:")
    is_asked = st.button(
        label,
        key=_SHOW,
        icon=icon,
        disabled=not now.ids,
        help=None if is_few else f"Select 2 to {COMPARED} to see them side by side",
    )
    if is_asked and not is_planning:
        show = compare if is_few else _list
        show(memory, now.ids)


@st.dialog("Side by side", width="large", on_dismiss="rerun")
def compare(memory: MemorySystem, ids: Sequence[str]) -> None:
    """Draw the dialog that shows a few experiences side by side."""
    comparison = comparison_columns(memory, ids)
    for column, experience in zip(st.columns(len(comparison) or 1), comparison, strict=False):
        with column:
            _draw_compared(experience)


def _draw_compared(experience: ComparisonColumn) -> None:
    st.markdown(f"**{experience.outcome}**")
    st.caption(experience.facts)
    st.page_link(
        "pages/experiences.py", label="Open", icon=":material/open_in_new:", query_params={"id": experience.id}
    )
    draw_prose(experience.task, key=f"tray_task_{experience.id}")
    st.caption("Feedback")
    if experience.feedback is None:
        st.caption("none")
    else:
        draw_prose(experience.feedback, key=f"tray_feedback_{experience.id}")
    st.caption("Solution")
    if experience.solution is None:
        st.caption("none")
    else:
        draw_code(experience.solution, key=f"tray_solution_{experience.id}")


@st.dialog("Selected", width="large", on_dismiss="rerun")
def _list(memory: MemorySystem, ids: Sequence[str]) -> None:
    rows = selection_rows(memory, ids)
    st.caption(f"The first {LISTED} of {len(ids):,}" if len(ids) > LISTED else counted(len(ids), "experience"))
    st.dataframe(
        [asdict(row) for row in rows],
        column_config=LIST_COLUMNS,
        column_order=list(LIST_COLUMNS),
        hide_index=True,
        alt="What is selected",
    )
    if len(ids) == 1:
        st.page_link("pages/experiences.py", label="Open", icon=":material/open_in_new:", query_params={"id": ids[0]})
