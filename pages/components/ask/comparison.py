"""Side-by-side comparison of two profiles for a query, and editing of profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.ask.comparison import (
    DEFAULT,
    Comparison,
    Profile,
    ProfileChange,
    RankingWeights,
    Side,
    compare,
    profile_names,
    profile_problems,
)
from atlas.views.shared.state import StoreState
from pages.components.ask.profiles import Name, ProfileWeights, called, draw_weights, first_profile, warn_of_problems
from pages.components.lists.cards import hit_card
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.filters import URL, digest
from pages.components.shared.scope import current_where, draw_awaited
from pages.components.shared.snapshot import store_state
from pages.components.shared.undo_toast import Act, Turn, announce_act, announcing_problems

ABOUT = "A profile is a set of weights. Two of them rank the same query, and nothing changes until you use one."

MOVES = {"▲": "green", "▼": "orange", "n": "blue"}
"""Colours of moves, by the first character of the text."""


def draw_comparison(memory: MemorySystem) -> None:
    """Draw a query, and on each side a profile, its weights and hits."""
    profiles, in_use = memory.storage.profiles.all(), memory.storage.profiles.in_use()
    for problem in profile_problems(memory):
        st.warning("The chosen profile cannot be used.", icon=":material/error:")
        st.text(problem)
    warn_of_problems(profiles)
    st.caption(ABOUT)
    query = st.text_input(
        "Query", key="evaluation_query", type="search", placeholder="Describe a task to see both rankings", bind=URL
    )
    left, right = st.columns(2, gap="medium")
    with left:
        first = draw_profile(memory, "left", profiles, in_use.name)
    with right:
        second = draw_profile(memory, "right", profiles, in_use.name)
    if not (query or "").strip() or draw_awaited(memory):
        return
    with st.spinner("Searching …"):
        found = compared(memory, query or "", first.weights, second.weights)
    with left:
        st.caption(found.caption)
        draw_side("left", found.left)
    with right:
        st.caption("▲ and ▼: how many ranks higher or lower than on the other side")
        draw_side("right", found.right)


def draw_profile(memory: MemorySystem, side: Name, profiles: Sequence[Profile], in_use: str) -> ProfileWeights:
    """Draw one side's profile picker, weight sliders and buttons, and return the chosen weights."""
    names, key = profile_names(profiles), f"evaluation_profile_{side}"
    if st.session_state.get(key) not in names:
        st.session_state[key] = first_profile(side, names, in_use)
    name = st.selectbox("Profile", names, key=key, format_func=lambda name: called(name, in_use))
    profile = next(profile for profile in profiles if profile.name == name)
    with st.expander("Weights", key=f"evaluation_weights_{side}"):
        chosen = ProfileWeights(profile, draw_weights("evaluation", side, profile))
    with st.container(horizontal=True, vertical_alignment="center"):
        _draw_acts(memory, side, chosen, in_use)
    return chosen


def draw_side(name: Name, side: Side) -> None:
    """Draw the hits of a side, best first, with their moves."""
    if not side.hits:
        st.info("Nothing relevant.", icon=":material/search_off:")
    for hit in side.hits:
        container = hit_card(hit.card, key=f"evaluation_{name}_{hit.id}")
        container.badge(f"{hit.rank}", color="gray")
        container.badge(hit.move, color=MOVES.get(hit.move[0], "gray"))  # type: ignore[arg-type]
    if side.hidden:
        st.caption(side.hidden)


def compared(memory: MemorySystem, query: str, left: RankingWeights, right: RankingWeights) -> Comparison:
    """Return both rankings of a query within the scope, cached by the store's state."""
    where = current_where(memory)
    return _compared(store_state(memory), query, left, right, digest(where), _memory=memory, _where=where)


@st.cache_data(max_entries=64, show_spinner=False)
def _compared(
    state: StoreState, query: str, left: RankingWeights, right: RankingWeights, scope: str, *, _memory: Any, _where: Any
) -> Comparison:
    return compare(_memory, query, left, right, where=_where)


def _draw_acts(memory: MemorySystem, side: Name, chosen: ProfileWeights, in_use: str) -> None:
    """Draw buttons that save these weights, let searches use the profile, and delete it."""
    disabled, name = memory.storage.read_only, chosen.profile.name
    why = READ_ONLY if disabled else None
    with st.popover("Save as …", icon=":material/save:", disabled=disabled, help=why, key=f"evaluation_save_as_{side}"):
        typed = f"evaluation_name_{side}"
        st.text_input("Name", "" if name == DEFAULT else name, key=typed, max_chars=60)
        st.button("Save", key=f"evaluation_save_{side}", on_click=_save, args=(memory, side, typed, chosen.weights))
    st.button(
        "Use for all searches",
        key=f"evaluation_use_{side}",
        icon=":material/check_circle:",
        disabled=disabled or chosen.is_edited or name == in_use,
        help=why
        or ("Save these weights first." if chosen.is_edited else "Changes what agents find too. It can be undone."),
        on_click=_use,
        args=(memory, name),
    )
    st.button(
        "Delete",
        key=f"evaluation_delete_{side}",
        icon=":material/delete:",
        disabled=disabled or name == DEFAULT,
        help=why or ("The built-in profile cannot be deleted." if name == DEFAULT else "It can be undone."),
        on_click=_delete,
        args=(memory, name),
    )


def _save(memory: MemorySystem, side: Name, typed: str, weights: RankingWeights) -> None:
    name = st.session_state[typed]
    with announcing_problems():
        earlier = memory.storage.profiles.save(name, weights)
        saved = memory.storage.profiles.get(name)
        st.session_state[f"evaluation_profile_{side}"] = saved.name
        _announce(earlier, f"Saved the profile {saved.name!r}")


def _use(memory: MemorySystem, name: str) -> None:
    if memory.storage.profiles.in_use().name == name:
        return  # clicked twice: the second undo would have no effect
    with announcing_problems():
        _announce(memory.storage.profiles.use(name), f"All searches use the profile {name!r} now")


def _delete(memory: MemorySystem, name: str) -> None:
    with announcing_problems():
        _announce(memory.storage.profiles.delete(name), f"Deleted the profile {name!r}")


def _announce(earlier: ProfileChange, sentence: str) -> None:
    announce_act(Act(sentence, _putting_back(earlier)))


def _putting_back(earlier: ProfileChange) -> Turn:
    return lambda memory: _putting_back(memory.storage.profiles.restore(earlier))
