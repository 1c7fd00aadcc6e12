"""Upkeep of the journal: what waits for a decision, and its parts below each other, drawn when they are opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared.wording import counted
from pages.components.journal.contexts import draw_contexts
from pages.components.journal.forgetting import draw_forgetting
from pages.components.journal.links import draw_suggestions, page_suggestions
from pages.components.journal.refused import draw_refused
from pages.components.lists.filters import URL
from pages.frame.address import replace_linked


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the upkeep."""

    title: str
    about: str
    icon: str
    draw: Callable[[MemorySystem], None]


PARTS = {
    "journal_suggestions": Part(
        title="Link suggestions", about="pair a crash with what fixed it", icon="add_link", draw=draw_suggestions
    ),
    "journal_refused": Part(
        title="Refused entries", about="accept one after all, or switch a gate", icon="filter_alt", draw=draw_refused
    ),
    "journal_archiving": Part(
        title="Archiving", about="move old entries out of prompts", icon="inventory_2", draw=draw_forgetting
    ),
    "journal_reading": Part(
        title="What agents read", about="see what a prompt is given", icon="visibility", draw=draw_contexts
    ),
}
"""Parts by the name of the parameter that opens them."""

FORMER_TABS = {part.title: key for key, part in PARTS.items()} | {
    "Contexts": "journal_reading",
    "Forgetting": "journal_archiving",
    "Shorten": "journal_archiving",
    "Refused": "journal_refused",
}
"""The part that an older link names as a tab of the page."""


def draw_upkeep(memory: MemorySystem) -> None:
    """Draw what waits for a decision, and the parts."""
    with st.spinner("Comparing crashes with later reflections …"):
        st.markdown(f"**{_waiting(memory)}**")
    for key, part in PARTS.items():
        icon = f":material/{part.icon}:"
        box = st.expander(f"**{part.title}**: {part.about}", key=key, icon=icon, on_change="rerun", bind=URL)
        if box.open:
            with box:
                part.draw(memory)


def open_linked(tabs: list[str]) -> None:
    """Open the parts that an older link names as tabs."""
    for key in filter(None, map(FORMER_TABS.get, tabs)):
        replace_linked(key, ["true"])


def _waiting(memory: MemorySystem) -> str:
    counts = {"link suggestion": len(page_suggestions(memory)), "refused entry": memory.journal.rejected(1).n_total}
    waiting = [counted(n, noun) for noun, n in counts.items() if n]
    return f"{' and '.join(waiting)} to decide on." if waiting else "There is nothing to decide on."
