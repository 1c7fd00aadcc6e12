"""The bar at the top of the next page that says what was done, with a button that undoes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import AtlasError, MemorySystem

_DONE, _PROBLEM = "act_done", "act_problem"


@dataclass(frozen=True, slots=True)
class Act:
    """Something that was done to the store from here."""

    sentence: str
    """Our own words: `Removed 9 experiences`."""

    take_back: Callable[[MemorySystem], None] | None = None
    """Function that undoes it and says so, or None if it cannot be undone."""


def announce(operation_id: str, sentence: str) -> None:
    """Say at the top of the next run what was done as an operation, and offer to undo it."""
    announce_act(Act(sentence, lambda memory: undo_and_say(memory, operation_id, taken_back(sentence))))


def announce_act(act: Act) -> None:
    """Say at the top of the next run what was done, and offer to undo it where it can be."""
    st.session_state.pop(_PROBLEM, None)
    st.session_state[_DONE] = act


def announce_final(sentence: str, problem: str) -> None:
    """Say at the top of the next run what was done that cannot be undone, and what of it is still to do."""
    announce_act(Act(sentence))
    if problem:
        say_problem(problem)


def taken_back(sentence: str) -> str:
    """Return `Undone: removed 9 experiences`."""
    return f"Undone: {sentence[:1].lower()}{sentence[1:]}"


def announce_problem(error: AtlasError) -> None:
    """Say at the top of the next run why something was not done."""
    say_problem(str(error))


def say_problem(sentence: str) -> None:
    """Say at the top of the next run what is wrong, in place of what was said there before."""
    st.session_state[_PROBLEM] = sentence


def draw_act(memory: MemorySystem) -> None:
    """Draw what was done last until it is undone or put away, or why it was not done."""
    problem: str | None = st.session_state.get(_PROBLEM)
    if problem:
        with _bar("act_problem_close", _PROBLEM):
            st.badge("Not done", icon=":material/error:", color="orange")
            st.text(problem)
    act: Act | None = st.session_state.get(_DONE)
    if act is not None:
        with _bar("act_close", _DONE):
            st.badge("Done", icon=":material/check:", color="green")
            st.text(act.sentence)
            if act.take_back is not None:
                st.button("Undo", key="act_undo", icon=":material/undo:", on_click=act.take_back, args=(memory,))


@contextmanager
def announcing_problems() -> Iterator[None]:
    """Let what goes wrong inside, in words for a person, be said at the top of the next run."""
    try:
        yield
    except AtlasError as error:
        announce_problem(error)


def undo_and_say(memory: MemorySystem, operation_id: str, sentence: str) -> None:
    """Undo an operation, and say at the top of the next run that it was done, or why it was not."""
    with announcing_problems():
        announce(memory.undo(operation_id).id, sentence)


def _bar(close_key: str, state_key: str) -> DeltaGenerator:
    bar = st.container(horizontal=True, border=True, vertical_alignment="center")
    with bar:
        st.button("", key=close_key, icon=":material/close:", type="tertiary", on_click=_forget, args=(state_key,))
    return bar


def _forget(state_key: str) -> None:
    st.session_state.pop(state_key, None)
