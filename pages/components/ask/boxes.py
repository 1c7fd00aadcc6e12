"""A task that is asked of all memories: the boxes, and what comes of it in one configuration or in two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.ask.answer import (
    BUDGET_TOKENS,
    EACH,
    MOST_EACH,
    MOST_TOKENS,
    NONSENSE,
    TITLES,
    Answer,
    Configuration,
    ContextBlock,
    MemoryQueryResult,
    answered,
    block_of,
    compared,
    counts,
    difference_sentence,
    found_for,
    settings_differing,
)
from atlas.views.ask.comparison import Profile, profile_names
from atlas.views.shared.state import StoreState
from pages.components.ask.answer import BLOCK_PIXELS_OF_TWO, draw_block, draw_choice, draw_parts, draw_summary
from pages.components.ask.profiles import Name, draw_weights, first_profile, warn_of_problems
from pages.components.lists.listing import SEARCHING
from pages.components.shared.scope import URL, digest
from pages.components.shared.snapshot import store_state

_NAMES = {title: name for name, title in TITLES.items()}


@dataclass(frozen=True, slots=True)
class _Side:
    name: Name
    configuration: Configuration


def held_by(memory: MemorySystem) -> dict[str, int]:
    """Return how many records each memory holds. Counted once for each state of the store."""
    return _counts(store_state(memory), _memory=memory)


def draw_ask(memory: MemorySystem) -> None:
    """Draw the task and how it is asked, and below what comes of it."""
    text = st.text_input(
        "Task", key="ask_text", type="search", placeholder="Describe a task, as an agent would be given it", bind=URL
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        budget = st.slider(
            "Budget of the block, in tokens", 0, MOST_TOKENS, BUDGET_TOKENS, step=100, key="ask_budget", bind=URL,
            width=330,
        )  # fmt: skip
        is_two = st.toggle("Compare two configurations", key="ask_two", bind=URL)
    sides = _draw_sides(memory, is_two=is_two)
    if not (text or "").strip():
        _draw_invitation()
        return
    with st.spinner(SEARCHING):
        answers = [_answer(memory, text or "", side.configuration, budget) for side in sides]
    if len(answers) == 1:
        _draw_one(memory, text or "", sides[0], answers[0])
    else:
        _draw_two(memory, text or "", sides, answers)


def _draw_one(memory: MemorySystem, text: str, side: _Side, answer: Answer) -> None:
    hits, block = st.columns(2, gap="medium")
    with hits:
        draw_summary(answer)
        if answer.n_hits:
            draw_parts(memory, text, side.name, side.configuration.weights, answer, draw_choice(memory))
    with block:
        draw_block(side.name, answer)


def _draw_two(memory: MemorySystem, text: str, sides: list[_Side], answers: list[Answer]) -> None:
    one, other = sides
    said = f"{settings_differing(one.configuration, other.configuration)} {difference_sentence(*answers)}"
    st.info(said, icon=":material/compare_arrows:")
    for column, side, answer in zip(st.columns(2, gap="medium"), sides, answers, strict=True):
        with column:
            draw_summary(answer)
            draw_block(side.name, answer, BLOCK_PIXELS_OF_TWO)
    if not any(answer.n_hits for answer in answers):
        return
    shown = draw_choice(memory)
    for column, side, answer in zip(st.columns(2, gap="medium"), sides, compared(*answers), strict=True):
        with column:
            draw_parts(memory, text, side.name, side.configuration.weights, answer, shown)


def _draw_sides(memory: MemorySystem, *, is_two: bool) -> list[_Side]:
    profiles, in_use = memory.storage.profiles.every(), memory.storage.profiles.in_use().name
    warn_of_problems(profiles)
    if not is_two:
        with st.expander("How it is asked", key="ask_how_left"):
            return [_Side("left", _draw_configuration("left", profiles, in_use))]
    left, right = st.columns(2, gap="medium")
    with left, st.container(border=True):
        one = _Side("left", _draw_configuration("left", profiles, in_use))
    with right, st.container(border=True):
        return [one, _Side("right", _draw_configuration("right", profiles, in_use))]


def _draw_configuration(side: Name, profiles: tuple[Profile, ...], in_use: str) -> Configuration:
    """Draw which weights a side ranks with, how many hits each memory gives, and which memories are left out."""
    names, key = profile_names(profiles), f"ask_profile_{side}"
    if st.session_state.get(key, names[0]) not in names:  # deleted since
        del st.session_state[key]
    first = names.index(first_profile(side, names, in_use))
    name = st.selectbox("Profile", names, index=first, key=key, bind=URL, help="At first, the one that searches use.")
    k = st.slider("Hits of each memory, at most", 1, MOST_EACH, EACH, key=f"ask_k_{side}", bind=URL)
    off = st.multiselect(
        "Leave out", list(_NAMES), key=f"ask_off_{side}", placeholder="No memory", bind=URL,
        help="To see what a memory contributes",
    )  # fmt: skip
    profile = next(profile for profile in profiles if profile.name == name)
    with st.expander("Weights", key=f"ask_weights_{side}"):
        weights = draw_weights("ask", side, profile, bind=URL)
    return Configuration(weights=weights, k=k, off=tuple(_NAMES[title] for title in off))


def _draw_invitation() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text("Searching here does not count as a retrieval. What would an agent get for an unknown task?")
        st.button("Ask nonsense", key="ask_nonsense", icon=":material/shuffle:", on_click=_ask_nonsense)


def _ask_nonsense() -> None:
    st.session_state["ask_text"] = NONSENSE


def _answer(memory: MemorySystem, text: str, configuration: Configuration, budget: int) -> Answer:
    """Return an answer, worked out once for each state of the store, and the block once more for each budget."""
    state, asked = store_state(memory), digest(text, configuration)
    result = _found(state, asked, _memory=memory, _text=text, _configuration=configuration)
    block = _block(state, asked, budget, _memory=memory, _result=result)
    return answered(result, block, configuration, held_by(memory))


@st.cache_data(max_entries=8, show_spinner=False)
def _counts(state: StoreState, *, _memory: MemorySystem) -> dict[str, int]:
    return counts(_memory)


@st.cache_data(max_entries=32, show_spinner=False)
def _found(
    state: StoreState, asked: str, *, _memory: MemorySystem, _text: str, _configuration: Configuration
) -> MemoryQueryResult:
    return found_for(_memory, _text, _configuration)


@st.cache_data(max_entries=64, show_spinner=False)
def _block(state: StoreState, asked: str, budget: int, *, _memory: MemorySystem, _result: Any) -> ContextBlock:
    return block_of(_memory, _result, budget)
