"""Writing strategies: from stored attempts, after a preview, or by hand."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import AtlasError, MemorySystem
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.strategies.strategy import EditableStrategy
from atlas.views.strategies.writing import (
    BY_PATTERN,
    MAX_ASKED,
    WriteProposal,
    WriteRequest,
    has_model,
    write_by_hand,
)
from pages.components.lists.edit_forms import draw_boxes
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.record_table import open_experience, table_height
from pages.components.shared.plans import propose
from pages.components.shared.undo_toast import announce

ROWS_AT_ONCE = 8

_PROBLEM, _BY_HAND, _TYPED = "writing_problem", "writing_by_hand", "writing_hand"

COLUMNS = {
    "what": st.column_config.TextColumn("", width=110),
    "title": st.column_config.TextColumn("Strategy", width=260),
    "suggestion": st.column_config.TextColumn("What to do", width="large"),
    "n_sources": st.column_config.NumberColumn("Sources", width=65),
}


def draw_from_attempts(memory: MemorySystem) -> None:
    """Draw the buttons that preview strategies from the store's attempts."""
    n_succeeded, disabled = memory.experience.count({"outcome": "succeeded"}), memory.storage.read_only
    why_not = READ_ONLY if disabled else "" if n_succeeded else "No attempt in this store is known to have succeeded."
    st.button("Write from successful attempts …", key="strategies_write", icon=":material/auto_awesome:",
              disabled=bool(why_not), on_click=_propose, args=(memory, False),
              help=why_not or f"Works {BY_PATTERN}. You first see what would be written.")  # fmt: skip
    if has_model(memory):
        st.button("Write with the language model …", key="strategies_write_model", icon=":material/psychology:",
                  disabled=bool(why_not), on_click=_propose, args=(memory, True),
                  help=why_not or f"It is asked about each attempt, at most {MAX_ASKED} at a time. "
                  "Failed ones become warnings. You first see what would be written.")  # fmt: skip


def draw_by_hand(memory: MemorySystem) -> None:
    """Draw the button that opens a form for a new strategy."""
    disabled = memory.storage.read_only
    st.button("Write one by hand …", key="strategies_by_hand", icon=":material/edit_note:", disabled=disabled,
              on_click=_begin_by_hand, help=READ_ONLY if disabled else None)  # fmt: skip


def draw_writing_dialogs(memory: MemorySystem) -> None:
    """Draw the form for a new strategy, if it was opened. The page draws it last."""
    if st.session_state.get(_BY_HAND):
        st.dialog("Write a strategy", width="large", on_dismiss=_close)(_draw_by_hand)(memory)


def _propose(memory: MemorySystem, by_model: bool) -> None:
    _close()
    with st.spinner("Reading the attempts …"):
        propose(memory, WriteRequest(by_model=by_model), draw_extra=_draw_written)


def _draw_written(proposal: WriteProposal) -> None:
    for text in (*proposal.plan.problems[:1], *proposal.plan.unmerged):
        st.text(text)
    if proposal.rows:
        height = table_height(len(proposal.rows), ROWS_AT_ONCE)
        st.dataframe([asdict(row) for row in proposal.rows], column_config=COLUMNS, column_order=list(COLUMNS),
                     hide_index=True, height=height, alt="What would be written")  # fmt: skip


def _begin_by_hand() -> None:
    _close()
    st.session_state[_BY_HAND] = True


def _draw_by_hand(memory: MemorySystem) -> None:
    if not st.session_state.get(_BY_HAND):
        st.rerun()
        return
    st.caption("Say when it applies and what to do. Word it for any task of the kind, with {name} where tasks "
               "differ.")  # fmt: skip
    draw_boxes(STRATEGY.fields, _TYPED, EditableStrategy(), memory.storage.read_only)
    _draw_problem()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Write the strategy", key="writing_save", type="primary", icon=":material/check:", on_click=_save,
                  args=(memory,), disabled=memory.storage.read_only)  # fmt: skip
        st.button("Cancel", key="writing_cancel", on_click=_close)


def _save(memory: MemorySystem) -> None:
    texts = {box.name: str(st.session_state.get(f"{_TYPED}_{box.name}") or "") for box in STRATEGY.fields}
    try:
        strategy_id, done = write_by_hand(memory, EditableStrategy(**texts))
    except AtlasError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    announce(done.operation_id, done.sentence)
    _close()
    open_experience(strategy_id)


def _draw_problem() -> None:
    if problem := st.session_state.get(_PROBLEM):
        st.badge("Not done", icon=":material/error:", color="orange")
        st.text(problem)


def _close() -> None:
    for key in (_PROBLEM, _BY_HAND):
        st.session_state.pop(key, None)
