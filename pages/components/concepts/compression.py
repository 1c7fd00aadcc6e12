"""Compression of programs: candidates, progress, results, and adding chosen functions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from atlas import MemorySystem, Settings
from atlas.views.concepts.compression import (
    MAX_PROGRAMS,
    USUAL_PROGRAMS,
    BeforeAfter,
    Compressible,
    CompressionResult,
    FunctionDetails,
    FunctionRow,
    LiveCompression,
    added_with,
    compressible,
    found_function,
    found_rows,
    headline,
    left_out,
    made_caption,
    notes,
    plan_adding,
    program_path,
    searches,
    why_outdated,
)
from atlas.views.shared.state import StoreState, may_name_paths
from atlas.views.shared.wording import counted
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.filters import digest
from pages.components.shared.jobs import ask_model, draw_job, live_result
from pages.components.shared.plans import apply_now
from pages.components.shared.snapshot import store_state
from pages.components.shared.texts import draw_code, draw_prose
from pages.components.shared.undo_toast import announcing_problems

BESIDE = (
    f"Directories that the programs import from, separated by {os.pathsep!r}. Programs may read what is in them. "
    "ATLAS_PROGRAM_PATH names them for good, also for running the examples of concepts."
)
COLUMNS = {
    "name": st.column_config.TextColumn("Function", width=220),
    "saving": st.column_config.NumberColumn(
        "Saving", format="localized", width=80, help="Tokens that it saves in the programs and the library together"
    ),
    "n_programs": st.column_config.NumberColumn(
        "Programs", format="localized", width=85, help="Programs that use it, or runs of tool calls"
    ),
    "n_tasks": st.column_config.NumberColumn("Tasks", format="localized", width=65),
    "arity": st.column_config.NumberColumn("Arity", width=60, help="How many parameters it has"),
    "verified": st.column_config.TextColumn(
        "Verified",
        width=125,
        help="Programs that did the same as before, of those whose tests call it. A workflow repeats recorded calls",
    ),
    "state": st.column_config.TextColumn("", width=120),
}


def draw_compression(memory: MemorySystem, scope: Mapping[str, Any]) -> None:
    """Draw the programs to compress, the button that starts it, and the last result."""
    ahead = _compressible(store_state(memory), digest(scope), _memory=memory, _scope=scope)
    if not draw_job(memory, LiveCompression, "Compressing", key="compress"):
        _draw_run(memory, scope, ahead)
    with st.container(key="curate_note"):
        st.text(ahead.sentence)
    found = live_result(memory, LiveCompression).current()
    if found is not None:
        _draw_found(memory, found, scope)


def _draw_run(memory: MemorySystem, scope: Mapping[str, Any], ahead: Compressible) -> None:
    live = live_result(memory, LiveCompression)
    is_first = live.current() is None
    settings = Settings.from_environment()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        most = st.selectbox(
            "Maximum programs",
            MAX_PROGRAMS,
            MAX_PROGRAMS.index(USUAL_PROGRAMS),
            key="compress_most",
            width=160,
            help="If there are more, a sample is searched. What is found is put into all.",
        )
        with_model = ask_model(
            "Functions proposed by",
            searches(settings),
            key="compress_by",
            help="The model is shown the programs in scope. Its proposals are proven in the same way as Stitch's.",
        )
        path = program_path(settings)
        if may_name_paths():
            path = st.text_input("Modules beside the programs", path, key="compress_path", width=260, help=BESIDE) or ""
        st.button(
            "Compress" if is_first else "Compress again",
            key="compress_run",
            icon=":material/compress:",
            type="primary" if is_first else "secondary",
            disabled=not ahead.can_run,
            on_click=_ask,
            args=(live, scope, most, path, with_model),
            help="Runs in the background for up to a few minutes. Nothing is added until you choose what to add.",
        )


def _ask(live: LiveCompression, scope: Mapping[str, Any], most: int, path: str, with_model: bool) -> None:
    with announcing_problems():
        live.submit(scope, most, path=path, with_model=with_model)


def _draw_found(memory: MemorySystem, result: CompressionResult, scope: Mapping[str, Any]) -> None:
    """Draw the found functions with figures and code, and the selection of those to add."""
    st.markdown(f"**{headline(result)}**")
    with st.container(gap="xsmall", key="curate_note_found"):
        st.text(" ".join([made_caption(result), *notes(result)]))
        if reasons := left_out(result):
            with st.expander("What was left out, and why", icon=":material/filter_alt:", key="compress_left_out"):
                for reason in reasons:
                    st.text(reason)
    if changed := why_outdated(memory, result, scope):
        st.warning(changed, icon=":material/history:")
    rows = found_rows(memory, result)
    if not rows:
        return
    opened = _draw_table(rows, result)
    _draw_choice(memory, result, rows)
    _draw_function(found_function(memory, result, opened.id), opened)


def _draw_table(rows: Sequence[FunctionRow], result: CompressionResult) -> FunctionRow:
    """Draw the functions in a table, and return the selected one, by default the first."""
    table = st.dataframe(
        [asdict(row) for row in rows],
        column_config=COLUMNS,
        column_order=[name for name in COLUMNS if any(getattr(row, name) != "" for row in rows)],
        hide_index=True,
        key=f"compress_table_{digest(result.made_at, rows)}",
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [0]}},
        alt="Functions that were found",
    )
    ticked = [row for row in table["selection"]["rows"] if row < len(rows)]
    return rows[ticked[0] if ticked else 0]


def _draw_choice(memory: MemorySystem, result: CompressionResult, rows: Sequence[FunctionRow]) -> None:
    new = {row.id: row for row in rows if row.is_new}
    if not new:
        st.info("The library has all of them.", icon=":material/check:")
        return
    chosen = st.multiselect(
        "To add",
        list(new),
        [found_id for found_id, row in new.items() if row.is_proven],
        format_func=lambda found_id: new[found_id].name,
        key=f"compress_chosen_{digest(result.made_at, list(new))}",
        placeholder="Nothing is chosen",
    )
    if along := added_with(result, chosen):
        st.caption(f"{counted(len(along), 'function')} more would be added too, because the chosen ones call them:")
        st.text(", ".join(along))
    has_workflows = any(new[found_id].is_workflow for found_id in chosen)
    with_strategies = has_workflows and st.checkbox(
        "Add workflows as strategies too", key="compress_strategies", help="For agents that call their tools themselves"
    )
    disabled = memory.storage.read_only
    st.button(
        plan_adding(memory, result, chosen).view.button or "Add",
        key="compress_apply",
        type="primary",
        icon=":material/check:",
        disabled=disabled or not chosen,
        on_click=_apply,
        args=(memory, result, tuple(chosen), with_strategies),
        help=READ_ONLY if disabled else "It can be undone.",
    )


def _draw_function(function: FunctionDetails, row: FunctionRow) -> None:
    """Draw the selected function, and its source programs before and after."""
    with st.container(border=True):
        draw_prose(function.description, key=f"compress_description_{row.id}")
        draw_code(function.code, key=f"compress_code_{row.id}")
        if function.callees:
            st.caption("It calls")
            st.text(", ".join(function.callees))
        if function.examples is not None:
            st.caption("Calls of it that these programs make, each run again by itself")
            draw_code(function.examples, key=f"compress_examples_{row.id}")
        n = len(function.programs)
        number = st.pagination(n, key=f"compress_program_{row.id}") if n > 1 else 1
        if n:
            _draw_before_after(function.programs[min(number, n) - 1], f"Program {number} of {n:,}", key=row.id)


def _draw_before_after(program: BeforeAfter, position: str, *, key: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{position}: with the function, it {program.verdict}")
        if program.is_there:
            st.page_link("pages/experiences.py", label="Open", icon=":material/open_in_new:",
                         query_params={"id": program.experience_id})  # fmt: skip
        else:
            st.caption("Its experience is no longer in the store")
    draw_prose(program.task, key=f"compress_task_{key}")
    before, after = st.columns(2)
    for column, word, text in ((before, "Before", program.before), (after, "After", program.after)):
        with column:
            st.caption(word)
            draw_code(text, key=f"compress_{word}_{key}_{program.experience_id}")


def _apply(memory: MemorySystem, result: CompressionResult, chosen: Sequence[str], with_strategies: bool) -> None:
    with st.spinner("Adding and embedding the concepts …"):
        apply_now(memory, plan_adding(memory, result, chosen, with_strategies=with_strategies))


@st.cache_data(max_entries=16, show_spinner="Counting the programs in scope …")
def _compressible(state: StoreState, key: str, *, _memory: MemorySystem, _scope: Mapping[str, Any]) -> Compressible:
    return compressible(_memory, _scope)
