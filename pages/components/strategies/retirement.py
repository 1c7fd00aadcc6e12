"""Retiring strategies, so that agents do not get them, and reactivating them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.strategies.proposals import RetirePlan
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.plans import apply_now


def draw_retire(memory: MemorySystem, ids: Sequence[str], *, key: str, is_retired: bool) -> None:
    """Draw the button that retires strategies, or reactivates retired ones."""
    disabled, plan = memory.storage.read_only, RetirePlan(ids=tuple(ids), is_back=is_retired)
    icon = ":material/undo:" if is_retired else ":material/visibility_off:"
    st.button(plan.view.button, key=key, icon=icon, disabled=disabled or not ids, on_click=apply_now,
              args=(memory, plan), help=READ_ONLY if disabled else plan.view.headline)  # fmt: skip


def is_all_retired(memory: MemorySystem, ids: Sequence[str]) -> bool:
    """Return whether all of these are retired."""
    return bool(ids) and {*ids} <= {*memory.strategies.retired()}
