"""Example questions from the store's own tasks, shown before the first query."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.ask.answer import NONSENSE
from atlas.views.ask.examples import invitations
from atlas.views.shared.state import StoreState
from pages.components.ask.proof import effect_of
from pages.components.lists.record_table import clicked_row
from pages.components.shared.snapshot import store_state

_CLICKS = "ask_examples_clicked"


def draw_invitation(memory: MemorySystem) -> None:
    """Draw questions that can be asked with a click."""
    questions = _examples(store_state(memory), _memory=memory)
    if questions:
        st.text("Or click one of these. They are tasks that this memory knows.")
        key = f"ask_examples_{st.session_state.get(_CLICKS, 0)}"
        st.dataframe(
            [{"task": question} for question in questions],
            column_config={"task": st.column_config.TextColumn("Task")},
            hide_index=True, key=key, on_select=partial(_ask_clicked, questions, key), alt="Tasks to ask",
            selection_mode="single-cell",
        )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text("What would an agent be told for a task that has nothing to do with this memory?")
        st.button("Ask something unrelated", key="ask_nonsense", icon=":material/shuffle:", on_click=_ask,
                  args=(NONSENSE,))  # fmt: skip
    st.caption("Asking here does not count as a retrieval.")


def _ask_clicked(questions: tuple[str, ...], key: str) -> None:
    row = clicked_row(key, len(questions))
    if row is not None:
        st.session_state[_CLICKS] = st.session_state.get(_CLICKS, 0) + 1  # a new table without a selection
        _ask(questions[row])


def _ask(text: str) -> None:
    st.session_state["ask_text"] = text


@st.cache_data(max_entries=8, show_spinner=False)
def _examples(state: StoreState, *, _memory: MemorySystem) -> tuple[str, ...]:
    return invitations(_memory, effect_of(_memory))
