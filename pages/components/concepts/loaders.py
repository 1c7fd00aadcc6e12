"""Loading primitives: a button for each library of tested functions that is installed."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.concepts.primitives import (
    load_primitives,
    loader_names,
    loader_title,
    n_missing,
    n_updates,
    update_primitives,
)
from atlas.views.shared.plans import CompletedAct
from atlas.views.shared.state import StoreState
from atlas.views.shared.wording import counted
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.snapshot import store_state
from pages.components.shared.undo_toast import announce, announcing_problems, set_problem


def draw_loaders(memory: MemorySystem) -> None:
    """Draw a button for the missing primitives of each installed library, and one for the outdated ones.

    They stand in a menu, unless the store has no concept yet.
    """
    offered = _offered(store_state(memory), _memory=memory)
    if not any(missing or newer for _, missing, newer in offered):
        return
    disabled = memory.storage.read_only
    hint = READ_ONLY if disabled else "It can be undone."
    with _menu() if memory.concepts.count() else st.container(horizontal=True):
        for number, (name, missing, newer) in enumerate(offered):
            domain = loader_title(name)
            if missing:
                st.button(f"Add {counted(missing, 'function')} for {domain}",
                          key=f"concepts_load_{number}", icon=":material/download:", disabled=disabled, on_click=load,
                          args=(memory, name, load_primitives),
                          help=f"Tested functions with examples, for agents to start with. {hint}")  # fmt: skip
            if newer:
                st.button(f"Update {counted(newer, 'function')} for {domain}",
                          key=f"concepts_update_{number}", icon=":material/upgrade:", disabled=disabled, on_click=load,
                          args=(memory, name, update_primitives),
                          help=f"This installation has newer versions than the store. {hint}")  # fmt: skip


def _menu() -> DeltaGenerator:
    return st.popover("Add ready-made functions", icon=":material/add:", type="tertiary", key="concepts_loaders")


def load(memory: MemorySystem, name: str, act: Callable[[MemorySystem, str], CompletedAct | None]) -> None:
    """Add or update primitives, and report it at the top of the next run. For a button's callback."""
    with announcing_problems(), st.spinner("Adding the functions …"):
        done = act(memory, name)
        if done is None:
            set_problem("The library has all of them already.")
        else:
            announce(done.operation_id, done.sentence)


@st.cache_data(max_entries=4, show_spinner=False)
def _offered(state: StoreState, *, _memory: MemorySystem) -> list[tuple[str, int, int]]:
    """Return each library of primitives with its number of missing and of updated primitives."""
    return [(name, n_missing(_memory, name), n_updates(_memory, name)) for name in loader_names()]
