"""Refinement: the judge, the progress, the decisions on experiences, and a button to apply them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import streamlit as st

from atlas import MemorySystem, Settings
from atlas.views.experience.proposals import RefineRequest
from atlas.views.experience.refinement import (
    MODEL,
    MOST,
    LiveRefinement,
    RefinePlan,
    can_apply,
    choices,
    decision_rows,
    headline,
    judges,
    made_caption,
    notes,
    why_outdated,
)
from atlas.views.shared.wording import counted
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.filters import digest
from pages.components.lists.record_table import open_clicked, table_height
from pages.components.shared.jobs import draw_job, live_result
from pages.components.shared.plans import propose
from pages.components.shared.scope import n_experiences
from pages.components.shared.snapshot import opening_model

COLUMNS = {
    "decision": st.column_config.TextColumn("Decision", width=145),
    "set_number": st.column_config.NumberColumn("Set", width=45, help="Similar experiences, judged together"),
    "before": st.column_config.NumberColumn("Before", width=60, help="Its position in the set, newest first"),
    "after": st.column_config.TextColumn("After", width=55, help="Its position among those of the set that are kept"),
    "outcome": st.column_config.TextColumn("Outcome", width=100),
    "task": st.column_config.TextColumn("Task", width=260),
    "reason": st.column_config.TextColumn("Reason", width=330),
}


def draw_refinement(memory: MemorySystem, scope: Mapping[str, Any]) -> None:
    """Draw the choice of experiences to judge, the button that plans, and the latest plan."""
    if not draw_job(memory, LiveRefinement, "Refining", key="refine"):
        _draw_run(memory, scope)
    plan = live_result(memory, LiveRefinement).current()
    if plan is not None:
        _draw_plan(memory, plan, scope)


def _draw_run(memory: MemorySystem, scope: Mapping[str, Any]) -> None:
    live, found = (
        live_result(memory, LiveRefinement),
        judges(opening_model(), Settings.from_environment().llm_budget_tokens),
    )
    n, is_first = n_experiences(memory, scope), live.current() is None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        most = st.selectbox("Maximum experiences", MOST, 2, key="refine_most", width=160,
                            help="The newest of those in scope.")  # fmt: skip
        judge = st.selectbox("Judged by", list(found.titles), format_func=lambda name: found.titles[name],
                             key="refine_judge", width=220)  # fmt: skip
        st.button(
            "Plan" if is_first else "Plan again",
            key="refine_run",
            icon=":material/auto_fix_high:",
            type="primary" if is_first else "secondary",
            disabled=not n,
            on_click=live.submit,
            args=(scope, most, judge == MODEL),
            help="Runs in the background. Nothing is changed until you apply the plan.",
        )
    with st.container(key="curate_note"):
        st.text(f"{counted(n, 'experience')} in scope. {found.note}")


def _draw_plan(memory: MemorySystem, plan: RefinePlan, scope: Mapping[str, Any]) -> None:
    """Draw the decision on each experience with its reason, and the button that applies the plan."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{headline(plan)}**", width="content")
        if plan.removed_ids:
            _draw_apply(memory, plan)
    with st.container(gap="xsmall", key="curate_note_made"):
        st.text(made_caption(plan))
        st.caption(" ".join(notes(plan)))
    if plan.failures:
        with st.expander("Why sets were not judged", icon=":material/error:", key="refine_failures"):
            for failure in plan.failures:
                st.text(failure)
    if outdated := why_outdated(memory, plan, scope):
        st.warning(outdated, icon=":material/history:")
    _draw_decisions(plan)


def _draw_apply(memory: MemorySystem, plan: RefinePlan) -> None:
    st.button(
        "Apply …",
        key="refine_apply",
        type="primary",
        icon=":material/check:",
        disabled=not can_apply(memory, plan),
        on_click=propose,
        args=(memory, RefineRequest(plan=plan)),
        kwargs={"is_repeatable": False},
        help=READ_ONLY if memory.storage.read_only else "You see a preview first. It can be undone.",
    )


def _draw_decisions(plan: RefinePlan) -> None:
    titles = choices(plan)
    action = st.segmented_control("Decisions", list(titles), default=next(iter(titles)), required=True,
                                 format_func=lambda name: titles[name], label_visibility="collapsed",
                                 key=f"refine_shown_{digest(plan.made_at, titles)}")  # fmt: skip
    rows = decision_rows(plan, action)
    ids = tuple(row.id for row in rows)
    key = f"refine_table_{digest(plan.made_at, ids)}"
    st.dataframe(
        [asdict(row) for row in rows],
        column_config=COLUMNS,
        column_order=list(COLUMNS),
        hide_index=True,
        key=key,
        on_select=partial(open_clicked, ids, key),
        selection_mode=["single-row", "single-cell"],
        height=table_height(len(rows)),
        alt="What would happen to each experience",
    )
