"""The tray at the bottom of every page: the selection and its actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.lists.kind_views import KindViews
from atlas.views.lists.selection import SelectionSummary
from atlas.views.lists.tables import exported_lines
from atlas.views.shared.scope import offered
from atlas.views.shared.state import bind_actor
from atlas.views.shared.wording import counted
from pages.components.lists.editing import READ_ONLY, change_marks, draw_pin, draw_retire
from pages.components.lists.kind_page import KindPage
from pages.components.lists.selection import Selection, clear_selection, current_selection
from pages.components.shared.plans import draw_act, draw_plan
from pages.components.shared.purging import draw_purge
from pages.components.shared.scope import page_tags
from pages.components.shared.snapshot import store_state

_CHOSEN, _TAGS = "tray_chosen", "tray_tags"


def draw_tray(memory: MemorySystem, name: str, kind_pages: Mapping[str, KindPage]) -> None:
    """Draw the open plan and the selection of the page's kind, if any. The router calls this last.

    Args:
        kind_pages: The pages of kinds, by name. Other pages show the selection of the first.
    """
    is_planning = draw_plan(memory) or draw_purge(memory)
    for page in kind_pages.values():
        if page.draw_dialog is not None:
            page.draw_dialog(memory)
    page = kind_pages.get(name) or next(iter(kind_pages.values()))
    selection = current_selection(page.views.kind)
    if selection.ids:
        with st.bottom, st.container(key="tray", gap="xsmall"):
            _draw_selection(memory, page, selection, is_planning)


def _draw_selection(memory: MemorySystem, page: KindPage, selection: Selection, is_planning: bool) -> None:
    views = page.views
    now = _now(memory, views, selection)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(now.sentence, icon=":material/select_all:", color="blue")
        st.caption(now.figures)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        page.draw_looking(memory, now, is_planning)
        _draw_marking(memory, now, views.kind)
        page.draw_acts(memory, now)
        for act in views.acts:
            draw_act(memory, act, now.ids, key=f"tray_{act.name}")
        if views.kind.is_exported:
            _draw_export(memory, now, views.kind)
        st.button("Clear", key="tray_clear", icon=":material/close:", on_click=clear_selection, args=(views.kind,))


def _now(memory: MemorySystem, views: KindViews[Any], selection: Selection) -> SelectionSummary:
    """Return the current state of the selection, cached by the store's state."""
    key = (store_state(memory), views.chosen_state(memory), selection, views.kind.noun)
    cached: tuple[object, SelectionSummary] | None = st.session_state.get(_CHOSEN)
    if cached is None or cached[0] != key:
        cached = (key, views.chosen(memory, selection.ids, selection.origin))
        st.session_state[_CHOSEN] = cached
    return cached[1]


def _draw_export(memory: MemorySystem, now: SelectionSummary, kind: Kind) -> None:
    st.download_button("Export", bind_actor(partial(exported_lines, memory, kind, now.ids)), f"{kind.page}.jsonl",
                       "application/jsonl", key="tray_export", icon=":material/download:", on_click="ignore",
                       disabled=not now.ids, help="As JSONL, which ATLAS can import")  # fmt: skip


def _draw_marking(memory: MemorySystem, now: SelectionSummary, kind: Kind) -> None:
    disabled = memory.storage.read_only
    with st.popover("Tag", key="tray_tag", icon=":material/sell:", disabled=disabled or not now.ids,
                    help=READ_ONLY if disabled else None):  # fmt: skip
        _draw_tags(memory, now, counted(len(now.ids), kind.noun), kind)
    draw_pin(memory, now.ids, kind, key="tray_pin", is_pinned=now.is_all_pinned)
    draw_retire(memory, now.ids, kind, key="tray_retire", is_retired=now.is_all_retired)


def _draw_tags(memory: MemorySystem, now: SelectionSummary, many: str, kind: Kind) -> None:
    st.multiselect(
        "Tags",
        offered(page_tags(memory, kind), now.tags),
        key=_TAGS,
        accept_new_options=True,
        placeholder="Choose or type a tag",
    )
    with st.container(horizontal=True):
        arguments = (memory, now.ids, many, kind)
        st.button("Add", key="tray_tag_add", type="primary", on_click=_retag, args=(*arguments, True))
        st.button("Remove", key="tray_tag_remove", on_click=_retag, args=(*arguments, False))


def _retag(memory: MemorySystem, ids: Sequence[str], many: str, kind: Kind, is_added: bool) -> None:
    tags = [tag for tag in (str(tag).strip() for tag in st.session_state.get(_TAGS, [])) if tag]
    if not tags:
        return
    st.session_state[_TAGS] = []
    if is_added:
        change_marks(memory, ids, f"Tagged {many}", kind, add_tags=tags)
    else:
        change_marks(memory, ids, f"Removed {counted(len(tags), 'tag')} from {many}", kind, remove_tags=tags)
