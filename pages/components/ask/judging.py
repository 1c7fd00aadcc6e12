"""Judging hits: right or wrong."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.ask.judging import ABOUT, LABELS, is_right
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.undo_toast import announcing_problems


def draw_about(memory: MemorySystem) -> None:
    """Draw an explanation of judging, or the reason why it is off."""
    st.caption(f"Hits cannot be judged here. {READ_ONLY}" if memory.storage.read_only else ABOUT)


def draw_judging(
    container: DeltaGenerator,
    memory: MemorySystem,
    text: str,
    name: str,
    record_id: str,
    *,
    judged: str | None,
    key: str,
) -> None:
    """Draw the choice between right and wrong.

    Args:
        container: The container to draw in.
        text: The question.
        name: The memory of the hit.
        record_id: The hit.
        judged: The judgements so far.
        key: No other hit on the page has it.
    """
    st.session_state[key] = judged  # it may have been judged on the other side or by another user
    container.segmented_control(
        "Right or wrong", list(LABELS), format_func=LABELS.__getitem__, key=key, label_visibility="collapsed",
        disabled=memory.storage.read_only, on_change=_judge, args=(memory, text, name, record_id, key),
    )  # fmt: skip


def _judge(memory: MemorySystem, text: str, name: str, record_id: str, key: str) -> None:
    with announcing_problems():
        memory.judge(text, record_id, is_right(st.session_state[key]), memory=name)
