"""The map, in WebGL or Plotly, and its interactions: select, open, zoom."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import streamlit as st

from atlas import AtlasError, MemorySystem
from atlas.views.map.page import Hits, Marks, hits_of, marks_packet, neighbours_of, selected_after
from atlas.views.map.points import Points
from atlas.views.map.pulse import pulse_after, pulse_packet
from atlas.views.map.sheet import Colours, Sheet
from atlas.views.map.tooltips import tooltip_packet
from atlas.views.shared.state import StoreState
from pages.components.lists.listing import SEARCHING
from pages.components.lists.record_table import close_opened, open_experience, opened_id
from pages.components.lists.selection import clear_selection, current_selection, select
from pages.components.map.component import COLOURS, MARKS, PULSE, draw_layer, draw_points, draw_talk
from pages.components.map.plotly import draw_plotly
from pages.components.shared.narrowing import current_scope, narrow_to
from pages.components.shared.snapshot import store_state

RENDERER, PLOTLY = "map_renderer", "plotly"
_SHEET, _DRAWN, _HOVERED, _VIEW, _FOCUS = "map_sheet", "map_drawn", "map_hovered", "map_view", "map_focus"
_PULSE, _WANTED = "map_pulse_state", "map_wanted"

_log = logging.getLogger("atlas.dashboard")

OPEN_DOMAIN = "map_domain"
"""Key of the number of the domain that is shown beside the map."""

PULSE_SECONDS = 2
"""Polling interval of the pulse."""

MAX_QUERY_CHARACTERS = 2_000
MAX_DRAWN = 3
"""Number of previous states whose points can still be identified."""


def draw_map(memory: MemorySystem, sheet: Sheet, colours: Colours) -> Marks:
    """Draw the map with marks for the scope's hits, the selection and the open experience, and return the marks."""
    st.session_state[_SHEET] = sheet
    _remember(sheet.points)
    marks = _marks(memory, sheet)
    if PLOTLY in (st.query_params.get(RENDERER), st.session_state.get(RENDERER)):
        draw_plotly(sheet, colours, marks, on_select=lambda ids, how: _select(memory, ids, how), on_open=_open)
        return marks
    with st.container(gap=None):
        draw_points(
            sheet.points,
            on_select=lambda event: _handle_selection(memory, event),
            on_open=lambda event: _opened(event),
            on_ask=_ask,
            on_domain=lambda told: open_domain(sheet, told.get("number")),
            on_unsupported=lambda _: st.session_state.update({RENDERER: PLOTLY}),
        )
        draw_layer(COLOURS, colours.packet)
        draw_layer(MARKS, marks_packet(sheet.map, sheet.points, marks))
        _draw_talk(memory)
        _draw_pulse(memory)
    return marks


def open_domain(sheet: Sheet, number: object) -> None:
    """Show a domain beside the map, replacing an open experience. A callback."""
    domain = next((row for row in sheet.domains if row.number == number), None)
    st.session_state[OPEN_DOMAIN] = None if domain is None else domain.number
    if domain is not None and opened_id() is not None:
        close_opened()


def focus_on(number: int) -> None:
    """Zoom the map to a domain. For a callback."""
    turn = st.session_state.get(_FOCUS, (0, 0))[1] + 1
    st.session_state[_FOCUS] = (number, turn)


@st.fragment
def _draw_talk(memory: MemorySystem) -> None:
    sheet: Sheet = st.session_state[_SHEET]
    draw_talk(
        tooltip_packet(memory, sheet, st.session_state.get(_HOVERED), st.session_state.get(_WANTED)),
        on_hover=lambda event: st.session_state.update({_HOVERED: event.get("point")}),
        on_titles=lambda event: st.session_state.update({_WANTED: event.get("wanted")}),
        on_view=lambda event: st.session_state.update({_VIEW: event}),
    )


@st.fragment(run_every=PULSE_SECONDS)
def _draw_pulse(memory: MemorySystem) -> None:
    sheet: Sheet = st.session_state[_SHEET]
    try:
        pulse = pulse_after(memory, st.session_state.get(_PULSE))
    except AtlasError as error:  # the store was closed, moved or damaged; the page's next run reports it
        _log.warning("cannot look for what agents do: %s", error)
        return
    st.session_state[_PULSE] = pulse
    draw_layer(PULSE, pulse_packet(sheet.points, pulse))


def _marks(memory: MemorySystem, sheet: Sheet) -> Marks:
    scope, opened = current_scope(), opened_id()
    where = scope.where(sheet.map)
    state = store_state(memory)
    number, turn = st.session_state.get(_FOCUS, (None, 0))
    with (
        st.container(),
        st.spinner(SEARCHING) if scope.is_search else nullcontext(),
    ):  # a container, as otherwise the map would be recreated whenever there is a query
        hits = _hits(state, repr((scope.text, scope.by, where)), _memory=memory, _where=where)
    return Marks(
        asked=scope.text.strip(),
        inside=_inside(state, repr(where), _memory=memory, _where=where) if scope.is_narrow else None,
        chosen=current_selection().ids,
        hits=hits,
        opened=opened,
        neighbours=neighbours_of(memory, opened) if opened and opened in sheet.points.number_by_id else (),
        focus=(sheet.domain(number), turn),
        start=st.session_state.get(_VIEW),
    )


@st.cache_data(max_entries=16, show_spinner=False)
def _hits(state: StoreState, key: str, *, _memory: MemorySystem, _where: dict[str, Any]) -> Hits:
    return hits_of(_memory, current_scope(), _where)


@st.cache_data(max_entries=16, show_spinner=False)
def _inside(state: StoreState, key: str, *, _memory: MemorySystem, _where: dict[str, Any]) -> list[str]:
    return _memory.experience.ids(_where)


def _remember(points: Points) -> None:
    """Keep the current and previous points, because a lasso may refer to earlier points."""
    earlier: tuple[Points, ...] = st.session_state.get(_DRAWN, ())
    older = [points_before for points_before in earlier if points_before.key != points.key]
    st.session_state[_DRAWN] = (points, *older)[:MAX_DRAWN]


def _points(event: dict[str, Any]) -> Points | None:
    """Return the points of a browser event, or None if they are too old."""
    remembered: tuple[Points, ...] = st.session_state.get(_DRAWN, ())
    return next((points for points in remembered if points.key == event.get("points")), None)


def _handle_selection(memory: MemorySystem, event: dict[str, Any]) -> None:
    points = _points(event)
    if points is None:
        return
    ids = selected_after(current_selection().ids, points.ids_of(str(event.get("mask", ""))), str(event.get("mode", "")))
    _select(memory, ids, {"box": "box", "keys": "keyboard"}.get(str(event.get("how")), "lasso"))


def _select(memory: MemorySystem, ids: list[str], how: str) -> None:
    if ids:
        select(ids, origin=f"{how} on the map", revision=memory.revision())
    else:
        clear_selection()


def _ask(event: dict[str, Any]) -> None:
    st.session_state[OPEN_DOMAIN] = None  # what the question finds takes the place of what is open
    if opened_id() is not None:
        close_opened()
    narrow_to(replace(current_scope(), text=str(event.get("text", ""))[:MAX_QUERY_CHARACTERS]))


def _opened(event: dict[str, Any]) -> None:
    points = _points(event)
    _open(points.id_of(event.get("point")) if points else None)


def _open(experience_id: str | None) -> None:
    if experience_id is not None:
        open_experience(experience_id)
