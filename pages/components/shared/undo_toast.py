"""The bar with the last action and its undo button."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import AtlasError, MemorySystem

_DONE, _PROBLEM = "act_done", "act_problem"

UNDONE, REDONE = "Undone", "Redone"


class Turn(Protocol):
    """Function that undoes an act and returns the function that redoes it, or None if there is none."""

    def __call__(self, memory: MemorySystem, /) -> Turn | None:
        """Undo or redo the act."""


@dataclass(frozen=True, slots=True, eq=False)
class Act:
    """An action on the store, which may have been undone or redone since."""

    sentence: str
    """Description of the action: `Removed 9 experiences`."""

    turn: Turn | None = None
    """Function that undoes it, or redoes it if it is undone, or None if it cannot be."""

    state: str = ""
    """`UNDONE`, `REDONE`, or empty for a new action."""

    id: str = field(default_factory=lambda: uuid4().hex)
    """Part of its button's key, so that a late click on the button of an earlier act is ignored."""

    @property
    def message(self) -> str:
        """`Undone: removed 9 experiences`."""
        return f"{self.state}: {self.sentence[:1].lower()}{self.sentence[1:]}" if self.state else self.sentence


def announce(operation_id: str, sentence: str) -> None:
    """Report an operation at the top of the next run, with an undo button."""
    announce_act(Act(sentence, undoing(operation_id)))


def announce_act(act: Act) -> None:
    """Report an action at the top of the next run, with an undo button if possible."""
    st.session_state.pop(_PROBLEM, None)
    st.session_state[_DONE] = act


def undoing(operation_id: str) -> Turn:
    """Return a function that undoes this operation only."""
    return lambda memory: undoing(memory.undo(operation_id).id)


def announce_final(sentence: str, problem: str) -> None:
    """Report an irreversible action at the top of the next run, with its remaining parts."""
    announce_act(Act(sentence))
    if problem:
        set_problem(problem)


def announce_problem(error: AtlasError) -> None:
    """Report a failed action at the top of the next run."""
    set_problem(str(error))


def set_problem(sentence: str) -> None:
    """Report a problem at the top of the next run, replacing an earlier message."""
    st.session_state[_PROBLEM] = sentence


def draw_act(memory: MemorySystem) -> None:
    """Draw the last action, or its failure, until it is undone or dismissed."""
    problem: str | None = st.session_state.get(_PROBLEM)
    if problem:
        with _bar("act_problem_close", _PROBLEM):
            st.badge("Not done", icon=":material/error:", color="orange")
            st.text(problem)
    act: Act | None = st.session_state.get(_DONE)
    if act is not None:
        with _bar("act_close", _DONE):
            st.badge("Done", icon=":material/check:", color="green")
            st.text(act.message)
            if act.turn is not None:
                word = "Redo" if act.state == UNDONE else "Undo"
                st.button(word, key=f"act_undo_{act.id}", icon=f":material/{word.lower()}:", on_click=_turn,
                          args=(memory, act))  # fmt: skip


def last_act() -> Act | None:
    """Return the last action of this session, on whichever page, or None if there is none to undo."""
    act: Act | None = st.session_state.get(_DONE)
    return act if act is not None and act.turn is not None and act.state != UNDONE else None


def undo_last(memory: MemorySystem) -> None:
    """Undo the last action, unless it is undone already."""
    if (act := last_act()) is not None:
        _turn(memory, act)


@contextmanager
def announcing_problems() -> Iterator[None]:
    """Show an `AtlasError` of the block at the top of the next run."""
    try:
        yield
    except AtlasError as error:
        announce_problem(error)


def undo_and_announce(memory: MemorySystem, operation_id: str, sentence: str, state: str) -> None:
    """Undo an operation, and report the result or failure at the top of the next run.

    Args:
        sentence: Text that describes the original operation.
        state: The new state: `UNDONE` or `REDONE`.
    """
    with announcing_problems():
        announce_act(Act(sentence, undoing(operation_id)(memory), state))


def _turn(memory: MemorySystem, act: Act) -> None:
    """Undo or redo the action of the bar. Idempotent for repeated clicks."""
    if st.session_state.get(_DONE) is not act or act.turn is None:
        return
    with announcing_problems():
        announce_act(Act(act.sentence, act.turn(memory), REDONE if act.state == UNDONE else UNDONE))


def _bar(close_key: str, state_key: str) -> DeltaGenerator:
    bar = st.container(horizontal=True, border=True, vertical_alignment="center", key=f"act_bar_{state_key}")
    with bar:
        st.button("", key=close_key, icon=":material/close:", type="tertiary", on_click=_forget, args=(state_key,))
    return bar


def _forget(state_key: str) -> None:
    st.session_state.pop(state_key, None)
