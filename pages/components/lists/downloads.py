"""Download buttons for all pages of a list, in formats for other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.kind import Kind
from atlas.views.lists.tables import FORMS, TYPES, table_of
from atlas.views.shared.results import MemoryMap
from atlas.views.shared.state import bind_actor
from pages.components.shared.snapshot import page_map


def draw_downloads(memory: MemorySystem, kind: Kind, ids: Callable[[], Sequence[str]]) -> None:
    """Draw a button for each form of a table.

    Args:
        ids: Returns the ids of the records on all pages of the list.
    """
    with st.popover("Download", icon=":material/download:", key=f"{kind.page}_download"):
        columns = (
            "uses, success rate, domain and position on the map" if kind is EXPERIENCE else "uses and success rate"
        )
        st.caption(f"All rows of all pages, with {columns}.")
        memory_map = page_map(memory) if kind is EXPERIENCE else None
        for form in FORMS:
            content = bind_actor(partial(_content, memory, kind, ids, form, memory_map))
            st.download_button(
                form, content, f"{kind.page}.{form.lower()}", TYPES[form],
                key=f"{kind.page}_download_{form.lower()}", icon=":material/table:", on_click="ignore",
            )  # fmt: skip


def _content(
    memory: MemorySystem, kind: Kind, ids: Callable[[], Sequence[str]], form: str, memory_map: MemoryMap | None
) -> bytes:
    return table_of(memory, kind, ids(), form, memory_map)
