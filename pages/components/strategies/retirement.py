"""Retiring strategies, so that agents do not get them, and reactivating them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.strategies.proposals import BringBackPlan, RetireRequest
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.plans import apply_now, draw_proposing


def draw_retire(memory: MemorySystem, ids: Sequence[str], *, key: str, is_retired: bool) -> None:
    """Draw the button that retires strategies, or brings them back if they are retired."""
    if not is_retired:
        draw_proposing(memory, "Retire …", RetireRequest(tuple(ids)), key=key, icon=":material/visibility_off:",
                       help_text="Agents are not given them any more. You see a preview first.",
                       is_possible=bool(ids))  # fmt: skip
        return
    disabled, plan = memory.storage.read_only, BringBackPlan(ids=tuple(ids))
    st.button(plan.view.button, key=key, icon=":material/undo:", disabled=disabled or not ids, on_click=apply_now,
              args=(memory, plan), help=READ_ONLY if disabled else plan.view.headline)  # fmt: skip


def is_all_retired(memory: MemorySystem, ids: Sequence[str]) -> bool:
    """Return whether all of these are retired."""
    return bool(ids) and {*ids} <= {*memory.strategies.retired()}
