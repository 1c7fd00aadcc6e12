"""The tray: what is selected, and what can be done with it. It stays at the bottom of every page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from atlas import MemorySystem
from atlas.views.lists.selection import Chosen
from atlas.views.shared.kinds import Kind, kind_on
from atlas.views.shared.scope import offered
from atlas.views.shared.wording import counted
from pages.components.lists.editing import READ_ONLY, change_marks, draw_bury, draw_pin
from pages.components.lists.selection import Selection, clear_selection, current_selection
from pages.components.shared.plans import draw_plan
from pages.components.shared.purging import draw_purge
from pages.components.shared.scope import page_tags
from pages.components.shared.snapshot import store_state

_CHOSEN, _TAGS = "tray_chosen", "tray_tags"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tray:
    """The tray of one kind of memory, as its feature describes it."""

    kind: Kind
    chosen: Callable[[MemorySystem, Sequence[str], str], Chosen]
    """The selection as the store is now, given its ids and where it was made."""

    draw_acts: Callable[[MemorySystem, Chosen], None]
    """Function that draws what can be done with a selection beside marking it."""

    draw_looking: Callable[[MemorySystem, Chosen, bool], None] | None = None
    """Function that draws the buttons that show more of the selection, given whether a plan is open."""

    draw_dialog: Callable[[MemorySystem], None] | None = None
    """Function that draws the dialog that one of the acts opened."""

    can_bury: bool = True
    state: Callable[[MemorySystem], object] = lambda memory: 0
    """Another value whenever the selection can have changed though the store's revision has not."""


def draw_tray(memory: MemorySystem, page: str, trays: Sequence[Tray]) -> None:
    """Draw the plan that is open and the selection of the page's kind, if there are any. The router does it last."""
    is_planning = draw_plan(memory) or draw_purge(memory)
    for tray in trays:
        if tray.draw_dialog is not None:
            tray.draw_dialog(memory)
    kind = kind_on(page)
    selection = current_selection(kind)
    if selection.ids:
        with st.bottom, st.container(key="tray", gap="xsmall"):
            _draw_selection(memory, next(tray for tray in trays if tray.kind is kind), selection, is_planning)


def _draw_selection(memory: MemorySystem, tray: Tray, selection: Selection, is_planning: bool) -> None:
    now = _now(memory, tray, selection)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(now.sentence, icon=":material/select_all:", color="blue")
        st.caption(now.figures)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        if tray.draw_looking is not None:
            tray.draw_looking(memory, now, is_planning)
        _draw_marking(memory, now, tray)
        tray.draw_acts(memory, now)
        st.button("Clear", key="tray_clear", icon=":material/close:", on_click=clear_selection, args=(tray.kind,))


def _now(memory: MemorySystem, tray: Tray, selection: Selection) -> Chosen:
    """Return the selection as the store is now, worked out once for each state of the store."""
    asked = (store_state(memory), tray.state(memory), selection, tray.kind.noun)
    held: tuple[object, Chosen] | None = st.session_state.get(_CHOSEN)
    if held is None or held[0] != asked:
        held = (asked, tray.chosen(memory, selection.ids, selection.origin))
        st.session_state[_CHOSEN] = held
    return held[1]


def _draw_marking(memory: MemorySystem, now: Chosen, tray: Tray) -> None:
    is_off, kind = memory.storage.read_only, tray.kind
    with st.popover("Tag", key="tray_tag", icon=":material/sell:", disabled=is_off or not now.ids,
                    help=READ_ONLY if is_off else None):  # fmt: skip
        _draw_tags(memory, now, counted(len(now.ids), kind.noun), kind)
    draw_pin(memory, now.ids, kind, key="tray_pin", is_pinned=now.is_all_pinned)
    if tray.can_bury:
        draw_bury(memory, now.ids, kind, key="tray_bury", is_buried=now.is_all_buried)


def _draw_tags(memory: MemorySystem, now: Chosen, many: str, kind: Kind) -> None:
    st.multiselect(
        "Tags",
        offered(page_tags(memory, kind), now.tags),
        key=_TAGS,
        accept_new_options=True,
        placeholder="Choose or type a tag",
    )
    with st.container(horizontal=True):
        given = (memory, now.ids, many, kind)
        st.button("Add", key="tray_tag_add", type="primary", on_click=_retag, args=(*given, True))
        st.button("Remove", key="tray_tag_remove", on_click=_retag, args=(*given, False))


def _retag(memory: MemorySystem, ids: Sequence[str], many: str, kind: Kind, is_added: bool) -> None:
    tags = [tag for tag in (str(tag).strip() for tag in st.session_state.get(_TAGS, [])) if tag]
    if not tags:
        return
    st.session_state[_TAGS] = []
    if is_added:
        change_marks(memory, ids, f"Tagged {many}", kind, add_tags=tags)
    else:
        change_marks(memory, ids, f"Removed {counted(len(tags), 'tag')} from {many}", kind, remove_tags=tags)
