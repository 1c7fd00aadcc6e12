"""The map as browser components: points are sent once, then only changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from atlas.views.map.packets import component_script, frame_stylesheet, layer_script, stylesheet
from atlas.views.map.points import Points

POINTS, COLOURS, MARKS, TALK, PULSE = "map_points", "map_colours", "map_marks", "map_talk", "map_pulse"
"""The five components of a map: one that draws, and four for updates. The names are used in the scripts."""

_points = st.components.v2.component(POINTS, css=stylesheet(), js=component_script())
_layers = {name: st.components.v2.component(name, js=layer_script()) for name in (COLOURS, TALK, PULSE)}
_layers[MARKS] = st.components.v2.component(MARKS, css=frame_stylesheet(), js=layer_script(), isolate_styles=False)

Act = Callable[[dict[str, Any]], None]
"""Callback with an event of the browser."""


def draw_points(
    points: Points, *, on_select: Act, on_open: Act, on_ask: Act, on_domain: Act, on_unsupported: Act
) -> None:
    """Draw the map itself. The points are only sent when they change."""
    _points(
        key=POINTS,
        data=points.packet,
        on_selected_change=_callback(POINTS, "selected", on_select),
        on_opened_change=_callback(POINTS, "opened", on_open),
        on_asked_change=_callback(POINTS, "asked", on_ask),
        on_domain_change=_callback(POINTS, "domain", on_domain),
        on_unsupported_change=_callback(POINTS, "unsupported", on_unsupported),
    )


def draw_layer(name: str, packet: bytes) -> None:
    """Draw colours or marks, by their name."""
    _layers[name](key=name, data=packet)


def draw_talk(packet: bytes, *, on_hover: Act, on_titles: Act, on_view: Act) -> None:
    """Draw the component for browser events, in a fragment, so that only the fragment reruns."""
    _layers[TALK](
        key=TALK,
        data=packet,
        on_hovered_change=_callback(TALK, "hovered", on_hover),
        on_wanted_change=_callback(TALK, "wanted", on_titles),
        on_viewed_change=_callback(TALK, "viewed", on_view),
    )


def _callback(key: str, event: str, act: Act) -> Callable[[], None]:
    """Return a callback that forwards browser events that are mappings.

    An event that arrives after the page was left is ignored: its component has no state any more.
    """

    def handle() -> None:
        value = (st.session_state.get(key) or {}).get(event)
        if isinstance(value, dict):
            act(value)

    return handle
