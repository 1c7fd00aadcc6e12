"""The search of all memories: its inputs, and the answer in one or two configurations."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.ask.advice import advice_of
from atlas.views.ask.answer import (
    BUDGET_TOKENS,
    DEFAULT_K,
    MAX_EACH,
    MAX_TOKENS,
    TITLES,
    Answer,
    Configuration,
    ContextBlock,
    MemoryQueryResult,
    agents_call,
    answered,
    block_of,
    compared,
    counts,
    difference_sentence,
    hits_for,
    settings_differing,
)
from atlas.views.ask.comparison import Profile, profile_names
from atlas.views.ask.missing import Question
from atlas.views.ask.strictness import LEVEL_SENTENCE, StrictnessRow, strictness_rows
from atlas.views.shared.state import StoreState
from pages.components.ask.answer import (
    draw_block,
    draw_block_difference,
    draw_found_heading,
    draw_parts,
)
from pages.components.ask.banner import draw_banner
from pages.components.ask.invitation import draw_invitation
from pages.components.ask.missing import ANCHOR as MISSING
from pages.components.ask.missing import draw_closest, draw_hidden, draw_missing
from pages.components.ask.presenting import draw_presenting
from pages.components.ask.profiles import (
    NAMES,
    STRICTNESS,
    Name,
    Side,
    draw_knob,
    draw_weights,
    first_profile,
    warn_of_problems,
)
from pages.components.ask.proof import LIKE, draw_proof, find_proof
from pages.components.ask.sharing import draw_going_on, draw_link, draw_saving
from pages.components.ask.trial import draw_trial
from pages.components.ask.waiting import draw_by_words, is_ready
from pages.components.lists.filters import URL, digest
from pages.components.shared.snapshot import store_state
from pages.frame.address import replace_linked

_NAMES = {title: name for name, title in TITLES.items()}


def record_counts(memory: MemorySystem) -> dict[str, int]:
    """Return the number of records in each memory, cached by the store's state."""
    return _counts(store_state(memory), _memory=memory)


def draw_ask(memory: MemorySystem, heading: DeltaGenerator) -> None:
    """Draw the task, the answer, and the settings.

    Args:
        heading: The row of the title. The buttons for the answer are drawn in it.
    """
    _follow_linked(memory)
    text = st.text_input(
        "Task", key="ask_text", type="search", placeholder="Describe a task, as an agent would be given it", bind=URL,
        label_visibility="collapsed",
    )  # fmt: skip
    bar = heading.container(horizontal=True, vertical_alignment="center", width="content", key="ask_bar")
    results = st.container()
    with bar:
        draw_presenting(memory)
    budget, sides = _draw_settings(memory, text or "")
    with results:
        if not (text or "").strip():
            draw_invitation(memory)
            return
        if not is_ready():
            draw_by_words(memory, text or "")
            return
        with st.spinner("Searching …"):
            answers = [_answer(memory, text or "", side.configuration, budget) for side in sides]
        _draw_results(memory, text or "", sides, answers, budget)
    with bar:
        draw_link()
        menu = st.popover("More", icon=":material/more_horiz:", key="ask_menu")
    with menu.container(gap="xsmall", key="ask_menu_acts"):
        draw_going_on(memory, text or "", answers)
        draw_saving(memory, text or "", sides, answers, budget)


def _follow_linked(memory: MemorySystem) -> None:
    """Ask the task of the experience that a link names."""
    record_id = st.query_params.get(LIKE)
    experience = memory.experience.get(record_id) if record_id else None
    if experience is not None:
        replace_linked("ask_text", [" ".join(experience.task.description.split())])
    replace_linked(LIKE, [])


def _draw_results(memory: MemorySystem, text: str, sides: list[Side], answers: list[Answer], budget: int) -> None:
    if len(answers) == 1:
        _draw_one(memory, text, sides[0], answers[0], budget)
    else:
        _draw_two(memory, text, sides, answers, budget)


def _draw_one(memory: MemorySystem, text: str, side: Side, answer: Answer, budget: int) -> None:
    proof = find_proof(memory, answer)
    advice = advice_of(memory, answer)
    draw_banner(answer, advice, proof)
    if answer.n_hits:
        hits, block_column = st.columns(2, gap="medium")
        with hits, st.container(gap="xsmall"):
            draw_found_heading(MISSING)
            draw_parts(memory, text, side, answer, advice.place if advice else 0)
        with block_column, st.container(key="ask_block_place"):
            draw_block(side.name, answer, _call(memory, side, budget))
    else:
        draw_closest(memory, Question(text=text, configuration=side.configuration, answer=answer))
    draw_proof(memory, answer, proof)
    draw_missing(memory, Question(text=text, configuration=side.configuration, answer=answer))
    draw_trial(text, answer.block.text)


def _draw_two(memory: MemorySystem, text: str, sides: list[Side], answers: list[Answer], budget: int) -> None:
    left, right = sides
    difference = f"{settings_differing(left.configuration, right.configuration)} {difference_sentence(*answers)}"
    st.info(difference, icon=":material/compare_arrows:")
    st.button("End the comparison", key="ask_end_two", icon=":material/close:", type="tertiary", on_click=_end_two)
    for column, side, answer in zip(st.columns(2, gap="medium"), sides, answers, strict=True):
        with column:
            st.subheader(side.title, anchor=False)
            draw_block(side.name, answer, _call(memory, side, budget), is_low=True)
    draw_block_difference(*answers)
    draw_found_heading()
    for column, side, answer in zip(st.columns(2, gap="medium"), sides, compared(*answers), strict=True):
        with column:
            draw_parts(memory, text, side, answer)
            draw_hidden(memory, Question(text=text, configuration=side.configuration, answer=answer), side.name)


def _end_two() -> None:
    st.session_state["ask_two"] = False


def _call(memory: MemorySystem, side: Side, budget: int) -> str:
    return agents_call(side.configuration, budget, memory.experience.weights)


def _draw_settings(memory: MemorySystem, text: str) -> tuple[int, list[Side]]:
    """Draw the settings: the budget, and one or two configurations."""
    profiles, in_use = memory.storage.profiles.all(), memory.storage.profiles.in_use().name
    place = st.container(key="ask_settings")
    with place:
        warn_of_problems(profiles)
    # Not in a menu: the browser keeps the earlier value of a switch that is not drawn while the page changes it.
    is_two = place.toggle("Compare two settings", key="ask_two", bind=URL)
    with place.expander("Search settings", expanded=is_two, icon=":material/tune:"):
        budget = st.slider(
            "Token budget of the context block", 0, MAX_TOKENS, BUDGET_TOKENS, step=100, key="ask_budget", bind=URL,
            width=330,
        )  # fmt: skip
        if not is_two:
            return budget, [Side("left", "", _draw_configuration(memory, text, "left", profiles, in_use))]
        sides = []
        for column, name, title in zip(st.columns(2, gap="medium"), NAMES, "AB", strict=True):
            with column:
                st.markdown(f"**Configuration {title}**")
                sides.append(Side(name, title, _draw_configuration(memory, text, name, profiles, in_use)))
        return budget, sides


def _draw_configuration(
    memory: MemorySystem, text: str, side: Name, profiles: tuple[Profile, ...], in_use: str
) -> Configuration:
    """Draw a configuration: weights, number of hits, strictness, and excluded memories."""
    names, key = profile_names(profiles), f"ask_profile_{side}"
    if st.session_state.get(key, names[0]) not in names:  # deleted since
        del st.session_state[key]
    first = names.index(first_profile(side, names, in_use))
    name = st.selectbox("Profile", names, index=first, key=key, bind=URL,
                        help="Starts with the profile that all searches use.")  # fmt: skip
    profile = next(profile for profile in profiles if profile.name == name)
    k = st.slider("Maximum hits per memory", 1, MAX_EACH, DEFAULT_K, key=f"ask_k_{side}", bind=URL)
    is_diverse = st.toggle(
        "Different hits first", True, key=f"ask_diverse_{side}", bind=URL,
        help="Similar attempts at a task become one hit, and a hit that is like one above it moves down.",
    )  # fmt: skip
    off = st.multiselect(
        "Memories to leave out", list(_NAMES), key=f"ask_off_{side}", placeholder="No memory", bind=URL,
        help="Leave a memory out to see what it contributes.",
    )  # fmt: skip
    strictness = draw_knob("ask", side, profile, STRICTNESS, bind=URL)
    container = st.container()
    with st.expander("Weights", key=f"ask_weights_{side}"):
        weights = draw_weights("ask", side, profile, bind=URL, defaults={STRICTNESS: strictness})
    off_names = tuple(_NAMES[title] for title in off)
    configuration = Configuration(weights=weights, k=k, off=off_names, is_diverse=is_diverse)
    with container:
        _draw_strictness(memory, text, side, configuration)
    return configuration


def _draw_strictness(memory: MemorySystem, text: str, side: Name, configuration: Configuration) -> None:
    """Draw the origin of the threshold, and the hits at other levels of strictness."""
    box = st.expander("What is strictness?", key=f"ask_strictness_rows_{side}", on_change="rerun")
    if not box.open:
        return
    with box:
        st.caption(LEVEL_SENTENCE)
        if not text.strip() or not is_ready():
            return
        rows = _strictness(
            store_state(memory), digest(text, configuration), _memory=memory, _text=text, _configuration=configuration
        )
        chosen = {True: "chosen", False: ""}
        table = [{"Strictness": row.strictness, **row.n_hits, " ": chosen[row.is_chosen]} for row in rows]
        st.caption("Hits per memory")
        st.dataframe(table, hide_index=True, key=f"ask_strictness_table_{side}")


def _answer(memory: MemorySystem, text: str, configuration: Configuration, budget: int) -> Answer:
    """Return an answer, cached by the store's state, with its block, cached by budget too."""
    state, key = store_state(memory), digest(text, configuration)
    result = _found(state, key, _memory=memory, _text=text, _configuration=configuration)
    block = _block(state, key, budget, _memory=memory, _result=result)
    return answered(result, block, configuration, record_counts(memory))


@st.cache_data(max_entries=8, show_spinner=False)
def _counts(state: StoreState, *, _memory: MemorySystem) -> dict[str, int]:
    return counts(_memory)


@st.cache_data(max_entries=32, show_spinner=False)
def _found(
    state: StoreState, key: str, *, _memory: MemorySystem, _text: str, _configuration: Configuration
) -> MemoryQueryResult:
    return hits_for(_memory, _text, _configuration)


@st.cache_data(max_entries=32, show_spinner=False)
def _strictness(
    state: StoreState, key: str, *, _memory: MemorySystem, _text: str, _configuration: Configuration
) -> tuple[StrictnessRow, ...]:
    return strictness_rows(_memory, _text, _configuration)


@st.cache_data(max_entries=64, show_spinner=False)
def _block(state: StoreState, key: str, budget: int, *, _memory: MemorySystem, _result: Any) -> ContextBlock:
    return block_of(_memory, _result, budget)
