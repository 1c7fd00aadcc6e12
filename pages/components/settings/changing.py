"""Links beside the facts of a store, which lead to where each can be changed, and the box for the visitor's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.settings.naming import ACTOR, MAX_CHARACTERS, may_rename
from pages.components.settings.process import typed
from pages.components.shared.memory import reopen_all
from pages.components.shared.undo_toast import Act, announce_act, announcing_problems

_NAME = "settings_name"


def status_changes(memory: MemorySystem, *, has_model: bool) -> Mapping[str, Callable[[], None]]:
    """Return what draws the way to change a fact, by the fact's name."""
    changes: dict[str, Callable[[], None]] = {
        "Language model": partial(_draw_to_models, "Change" if has_model else "Choose", key="settings_to_language"),
        "Embedding model": partial(_draw_to_models, "Change", key="settings_to_embedding"),
        "Strictness": _draw_to_strictness,
        "Last change": partial(_draw_to_page, "History"),
        "Last map": partial(_draw_to_page, "Map"),
        "Near-duplicates": partial(_draw_to_page, "Curate"),
    }
    if may_rename():
        changes["Your name in History"] = partial(_draw_naming, memory.storage.settings.actor)
    return changes


def open_part(name: str) -> None:
    """Open a part of the page. For callbacks."""
    st.session_state.settings_tab = name


def _draw_to_models(label: str, *, key: str) -> None:
    st.button(label, key=key, type="tertiary", on_click=open_part, args=("Models",))


def _draw_to_strictness() -> None:
    if st.button("Change", key="settings_to_strictness", type="tertiary"):
        st.switch_page("pages/evaluation.py")


def _draw_to_page(name: str) -> None:
    if st.button(name, key=f"settings_to_{name.lower()}", type="tertiary"):
        st.switch_page(f"pages/{name.lower()}.py")


def _draw_naming(name: str) -> None:
    with st.popover("Change", type="tertiary", key="settings_naming"):
        st.text_input("Your name in History", name, key=_NAME, max_chars=MAX_CHARACTERS, width=280)
        st.button("Use this name", key="settings_name_use", type="primary", on_click=_rename)
        st.caption(f"Until this dashboard stops. To keep it, start the dashboard with {ACTOR} set to your name.")


def _rename() -> None:
    name = st.session_state[_NAME].strip()
    with announcing_problems():
        typed().forget(ACTOR)
        if name:
            typed().use(ACTOR, name)
        reopen_all()
        announce_act(
            Act("The name is used from now on" if name else "Your name is again the one that the dashboard began with")
        )
