"""Keeping strategies from agents, and giving them back, without deleting them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared.wording import counted
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.forms import act


def draw_retire(memory: MemorySystem, ids: Sequence[str], *, key: str, is_retired: bool) -> None:
    """The button that retires strategies, or where they are retired brings them back."""
    is_off = memory.storage.read_only
    label, icon = ("Bring back", ":material/undo:") if is_retired else ("Retire", ":material/visibility_off:")
    about = "Agents are given them again." if is_retired else "Agents are not given them any more. They are kept."
    st.button(label, key=key, icon=icon, disabled=is_off or not ids, on_click=_retire,
              args=(memory, tuple(ids), is_retired), help=READ_ONLY if is_off else about)  # fmt: skip


def is_all_retired(memory: MemorySystem, ids: Sequence[str]) -> bool:
    """Whether none of these is given to agents."""
    return bool(ids) and {*ids} <= {*memory.strategies.retired()}


def _retire(memory: MemorySystem, ids: tuple[str, ...], is_retired: bool) -> None:
    scoped = memory.strategies.within("mark", "brought back" if is_retired else "retired")
    change = scoped.unretire if is_retired else scoped.retire
    act(lambda: change(ids), scoped, f"{'Brought back' if is_retired else 'Retired'} {counted(len(ids), 'strategy')}")
