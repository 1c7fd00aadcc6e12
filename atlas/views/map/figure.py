"""The map as a Plotly figure, for browsers without WebGL2."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from atlas.core.imports.distribution import extra
from atlas.views.charts.palette import FAILURE_COLOUR, GREY, PALETTE
from atlas.views.map.colours import RED
from atlas.views.map.page import Marks
from atlas.views.map.sheet import Colours, Sheet

SYMBOLS = np.array(["circle", "x", "diamond"])
LABELS = 25
"""Domains whose names are written. A figure cannot keep them apart."""

"""The colour of weak domains."""

CHOSEN, LEFT_OUT = {"opacity": 1.0}, {"opacity": 0.25}


def map_figure(sheet: Sheet, colours: Colours, marks: Marks, *, height: int) -> Any:
    """Return the figure: one trace with all points, so that a lasso returns point indices, and the hits over it."""
    with extra("dashboard", "the map as a Plotly figure"):
        import plotly.graph_objects as go

    points, xy = sheet.points, sheet.map.coordinates
    inside = np.ones(len(points.ids), np.bool_) if marks.inside is None else points.bits_of(marks.inside)
    numbers = np.flatnonzero(inside)
    palette = np.array([_colour(entry.colour, entry.shade) for entry in colours.colouring.entries])
    selected = np.flatnonzero(points.bits_of(marks.chosen)[numbers]) if marks.chosen else None
    trace = go.Scattergl(
        x=xy[numbers, 0],
        y=xy[numbers, 1],
        customdata=numbers.astype(np.int32),
        mode="markers",
        hoverinfo="none",
        selectedpoints=selected,
        selected={"marker": CHOSEN},
        unselected={"marker": LEFT_OUT},
        marker={
            "size": 7 if len(numbers) < 3_000 else 4,
            "color": palette[colours.colouring.category[numbers]],
            "symbol": SYMBOLS[points.outcomes[numbers]] if len(numbers) < 3_000 else "circle",
        },
    )
    figure = go.Figure([trace, _hits(sheet, marks)])
    figure.update_layout(
        height=height,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        showlegend=False,
        dragmode="lasso",
        uirevision="map",
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
        annotations=_labels(sheet),
    )
    return figure


def _hits(sheet: Sheet, marks: Marks) -> Any:
    with extra("dashboard", "the map as a Plotly figure"):
        import plotly.graph_objects as go

    numbers = sheet.points.numbers_of(marks.hits.ids)
    xy = sheet.map.coordinates[numbers]
    ring = {"symbol": "circle-open", "size": 14, "color": "#d33f49", "line": {"width": 2}}
    return go.Scattergl(x=xy[:, 0], y=xy[:, 1], customdata=numbers, mode="markers", marker=ring, hoverinfo="none")


def _labels(sheet: Sheet) -> list[dict[str, Any]]:
    """Return the domains' names. Plotly reads markup in them, so it is escaped."""
    largest = sorted(sheet.domains, key=lambda row: -row.n)[:LABELS]
    return [
        {"x": row.centre[0], "y": row.centre[1], "text": html.escape(row.name), "showarrow": False, "yshift": 14}
        for row in largest
    ]


def _colour(index: int | None, shade: float | None) -> str:
    if shade is not None:
        return f"hsl(210, 60%, {80 - 50 * shade:.0f}%)"
    if index is None or index < 0:
        return FAILURE_COLOUR if index == RED else GREY
    return PALETTE[index % len(PALETTE)]
