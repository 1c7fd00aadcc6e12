"""The page of a kind of memory: its list, and beside it the open record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from atlas import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.lists.kind_views import KindViews
from atlas.views.lists.queries import Place, Query
from atlas.views.lists.selection import SelectionSummary
from pages.components.lists.cards import hit_card
from pages.components.lists.empty import draw_empty as draw_empty_store
from pages.components.lists.heading import draw_heading
from pages.components.lists.listing import (
    Answer,
    Finish,
    ask,
    cards_of,
    draw_list,
    draw_trash_link,
    find,
    split,
)
from pages.components.lists.panel import Panel, draw_panel, draw_walk
from pages.components.lists.record_table import opened_id
from pages.components.shared.scope import draw_awaited, n_records
from pages.components.shared.snapshot import page_memory


def draw_nothing_yet(memory: MemorySystem, kind: Kind) -> None:
    """Draw how to fill an empty memory."""
    draw_empty_store(memory, kind.contents, title=kind.nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindPage:
    """The page of one kind of memory.

    Common parts are described by its views. The other fields draw parts specific to the kind.
    """

    views: KindViews[Any]
    panel: Panel
    draw_empty: Callable[[MemorySystem, Kind], None] = draw_nothing_yet
    draw_above: Callable[[MemorySystem, Query], None] | None = None
    """Draws the part between the filters and the list."""

    draw_below: Callable[[MemorySystem], None] = lambda memory: None
    """Draws the part below the list, unless a record is open beside it."""

    draw_finding: Callable[[MemorySystem, Query], None] = lambda memory, query: None
    """Draws a further finding at the head of the list."""

    ask: Callable[[MemorySystem, Kind], Query] = ask
    """Draws the filters of a list and returns the query."""

    finish: Finish = lambda memory, rows: rows
    widths: tuple[int, int] = (1, 1)
    """Relative widths of the list and of the open record."""

    draw_acts: Callable[[MemorySystem, SelectionSummary], None] = lambda memory, chosen: None
    """Draws further acts on a selection, in the tray."""

    draw_looking: Callable[[MemorySystem, SelectionSummary, bool], None] = lambda memory, chosen, is_planning: None
    """Draws further buttons of the tray, given whether a plan is open."""

    draw_dialog: Callable[[MemorySystem], None] | None = None
    """Draws the dialog of an action."""


def draw_page(page: KindPage) -> None:
    """Draw the page."""
    memory, kind = page_memory(), page.views.kind
    draw_heading(kind.page.capitalize(), kind.about, is_one_line=True)
    draw_records(page, memory)


def draw_records(page: KindPage, memory: MemorySystem) -> None:
    """Draw the records, or how to fill an empty memory."""
    kind = page.views.kind
    if n_records(memory, kind):
        _draw_list_and_panel(page, memory)
        return
    page.draw_empty(memory, kind)
    draw_trash_link(memory, kind)
    page.draw_below(memory)


def draw_opened(page: KindPage, memory: MemorySystem, record_id: str) -> None:
    """Draw one record in full, on any page."""
    draw_panel(page.views, page.panel, memory, record_id)


def _draw_list_and_panel(page: KindPage, memory: MemorySystem) -> None:
    """Draw the list, and the open record beside it.

    The finding stands above all. Filters, and what stands between them and the list, are drawn above both.
    """
    kind, opened = page.views.kind, opened_id()
    head = st.container(horizontal=True, vertical_alignment="center", gap="small", key="finding")
    filters = st.container(key="filters")
    beside, panel = split(opened, page.widths)
    with filters:
        bar = st.container(horizontal=True, vertical_alignment="center", gap="xsmall")
        with bar:
            query = page.ask(memory, kind)
        if page.draw_above is not None:
            page.draw_above(memory, query)
    place: Place | None = None
    with beside:
        answer = find(page.views, memory, query)
        if not kind.is_scoped or not draw_awaited(memory):
            place = draw_list(page.views, memory, answer, is_beside=bool(opened), head=head, bar=bar,
                              finish=page.finish)  # fmt: skip
            with head:
                page.draw_finding(memory, query)
        if not opened:
            page.draw_below(memory)
    if opened and panel is not None:
        with panel:
            draw_panel(page.views, page.panel, memory, opened, partial(_draw_why, page.views, memory, answer, opened),
                       draw_walk=partial(draw_walk, kind, place))  # fmt: skip


def _draw_why(views: KindViews[Any], memory: MemorySystem, answer: Answer, opened: str) -> None:
    """Draw why the open record was found, if a query found it."""
    if answer.result is None or opened not in answer.result.ids:
        return
    st.caption("Why it is here")
    for card in cards_of(views, memory, answer, [opened]):
        # the title follows below
        hit_card(replace(card, title="", is_titled=True), key=f"{views.kind.noun}_why_{card.id}", is_open=True)
