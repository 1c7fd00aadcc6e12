"""The page of concepts: the common parts of all kinds, loaders of primitives, and composition."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.concepts.kind import CONCEPTS
from atlas.views.concepts.primitives import loader_names
from atlas.views.kinds.kind import Kind
from atlas.views.lists.selection import SelectionSummary
from pages.components.concepts.composition import compose, draw_composition
from pages.components.concepts.loaders import draw_loaders
from pages.components.concepts.panel import PANEL
from pages.components.lists.kind_page import KindPage, draw_nothing_yet


def _draw_empty(memory: MemorySystem, kind: Kind) -> None:
    """Draw how to fill a library without concepts."""
    draw_nothing_yet(memory, kind)
    if loader_names() and not memory.storage.read_only:
        st.text("Or start with ready-made functions, which are tested:")


def _draw_composing(memory: MemorySystem, now: SelectionSummary) -> None:
    st.button("Compose …", key="tray_compose", icon=":material/account_tree:", disabled=len(now.ids) < 2,
              on_click=compose, args=(memory, now.ids),
              help="Makes one function of them if each result fits the next input. You see a preview first.",
              )  # fmt: skip


PAGE = KindPage(
    views=CONCEPTS,
    panel=PANEL,
    draw_empty=_draw_empty,
    draw_below=draw_loaders,
    draw_acts=_draw_composing,
    draw_dialog=draw_composition,
)
