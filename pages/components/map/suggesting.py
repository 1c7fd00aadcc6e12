"""Beside the map: names for the domains that a language model suggests, if there is one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.map.sheet import Sheet
from atlas.views.map.suggesting import NamedDomain, named_sentence, suggest_domain_names
from pages.components.shared.memory_map import live_map
from pages.components.shared.snapshot import opening_model
from pages.components.shared.undo_toast import Act, Turn, announce_act, announcing_problems


def draw_suggesting(memory: MemorySystem, sheet: Sheet) -> None:
    """Draw the button that has the language model name the domains, if there is a model and the store is writable."""
    model = opening_model()
    if model.client is None or memory.storage.read_only:
        return
    if st.button(
        "Suggest names",
        key="map_suggest",
        icon=":material/auto_awesome:",
        help=f"{model.badge} reads the words and the typical tasks of each domain. Names that you gave stay.",
    ):
        with st.spinner(f"{model.badge} is naming the domains …"), announcing_problems():
            _suggest(memory, sheet)
        st.rerun()


def _suggest(memory: MemorySystem, sheet: Sheet) -> None:
    model, names = opening_model(), live_map(memory).names
    if model.client is None:
        return
    before = names.load()
    found = suggest_domain_names(model.client, memory, sheet.map)
    names.add_suggestions(sheet.map, found.names, found.author)
    announce_act(Act(named_sentence(found), _putting_back(before)))


def _putting_back(earlier: Sequence[NamedDomain]) -> Turn:
    """Return an undo function for names of domains."""

    def turn(memory: MemorySystem, /) -> Turn:
        names = live_map(memory).names
        now = names.load()
        names.restore(earlier)
        return _putting_back(now)

    return turn
