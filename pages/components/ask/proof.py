"""One task with and without memory: how its recorded attempts went, and one of each side by side."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.ask.answer import Answer
from atlas.views.ask.proof import (
    RECORDED,
    MemoryEffect,
    Proof,
    attempts_phrase,
    compared_tasks_sentence,
    example_of,
    proof_as_json,
    proof_of,
    strength_of,
)
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import shortened
from atlas.views.trace.conversation import Reading
from pages.components.experience.trace import current_reading, draw_trace
from pages.components.shared.snapshot import store_state

_KEY = "ask_traces"
TITLE = "The same task, with and without memory"
ANCHOR = "same-task"
LIKE = "ask_like"
"""Parameter of an address: the id of an experience whose task is asked."""

MAX_MARKS = 8
"""Maximum attempts that are drawn as marks, for each side."""

EXAMPLE_CHARACTERS = 200
"""Maximum characters of the task of an example."""


def effect_of(memory: MemorySystem) -> MemoryEffect:
    """Return the effect of memory, cached by the store's state."""
    return _effect(store_state(memory), _memory=memory)


def find_proof(memory: MemorySystem, answer: Answer) -> Proof | None:
    """Return the proof for the best hit that has one, or None."""
    effect = effect_of(memory)
    return proof_of(memory, answer, effect) if effect.n_tasks else None


def draw_example(memory: MemorySystem) -> None:
    """Draw the task that gained most with memory, with a link to its proof, or nothing if there is none."""
    proof = _example(store_state(memory), _memory=memory)
    if proof is None:
        return
    with st.container(gap=None, key="overview_example"):
        st.text(f"For example: “{shortened(proof.task, EXAMPLE_CHARACTERS)}”")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(_marked(proof), width="content")
            st.page_link("pages/ask.py", label="See both side by side", icon=":material/arrow_forward:",
                         width="content", query_params={LIKE: proof.with_memory.experience.id})  # fmt: skip


def _marked(proof: Proof) -> str:
    without, with_memory = map(_marks, proof.outcomes)
    return f"without memory {without}\u2003with memory {with_memory}"


def outcomes_phrase(outcomes: tuple[bool, ...]) -> str:
    """Return `✗ ✗ failed twice` in the colours of outcomes, or the words alone for many."""
    words = f"**{attempts_phrase(outcomes)}**"
    return words if len(outcomes) > MAX_MARKS else f"{_marks(outcomes)} {words}"


def _marks(outcomes: tuple[bool, ...]) -> str:
    """Return `✗ ✗ ✓` in the colours of outcomes, or a count of many."""
    if len(outcomes) > MAX_MARKS:
        return f"**{sum(outcomes):,} of {len(outcomes):,} succeeded**"
    return " ".join(":green[**✓**]" if success else ":red[**✗**]" for success in outcomes)


def draw_proof(memory: MemorySystem, answer: Answer, proof: Proof | None) -> None:
    """Draw both traces side by side, or that no task among the hits was tried both ways."""
    effect = effect_of(memory)
    if not effect.n_tasks or not answer.n_hits:
        return
    with st.container(key="ask_proof"):
        st.subheader(TITLE, anchor=ANCHOR)
        if proof is None:
            absence = "No task of a strong or medium hit was tried both with memory and without."
            st.caption(f"{absence} {compared_tasks_sentence(effect)}")
            return
        st.markdown(f"**{proof.sentence}**")
        st.caption(f"{RECORDED.format(strength_of(answer, proof))} {compared_tasks_sentence(effect)}")
        initial = Reading(at=proof.parting or 0)
        reading = current_reading(_KEY, proof.id, initial)
        draw_trace(proof_as_json(proof, reading), trace_id=proof.id, key=_KEY, initial=initial)


@st.cache_data(max_entries=4, show_spinner=False)
def _effect(state: StoreState, *, _memory: MemorySystem) -> MemoryEffect:
    return _memory.memory_effect()


@st.cache_data(max_entries=4, show_spinner=False)
def _example(state: StoreState, *, _memory: MemorySystem) -> Proof | None:
    return example_of(_memory, effect_of(_memory))
