"""Plotly figures in colours of the theme that are safe for colour blindness, on light and on dark."""

from __future__ import annotations

from typing import Any

Chart = dict[str, Any]
"""A figure as Plotly takes it."""

PALETTE = ("#2f6fb0", "#c8662b", "#2e8b74", "#8a63a8", "#a8892a", "#5b7083", "#b5527a", "#5a8f3c")
GREY = "#8a949e"
GREY_BAR_COLOUR = "rgba(138, 148, 158, 0.5)"
BAND_COLOUR = "rgba(47, 111, 176, 0.18)"
"""The first colour of the palette for an interval around a line."""

PERCENT_AXIS: Chart = {
    "tickvals": [0, 0.5, 1],
    "ticktext": ["0%", "50%", "100%"],
    "fixedrange": True,
}
"""An axis of shares, marked as the pages write them: `50%`."""

FAILURE_COLOUR = "#c2412d"
"""The red of what failed and of crashes. It is between the theme's two reds for text, as charts keep their colours."""

MENDED_COLOUR = "rgba(194, 65, 45, 0.45)"
"""The same for a crash that was fixed."""

OUTCOME_COLOURS = {"succeeded": PALETTE[0], "failed": FAILURE_COLOUR, "unknown": GREY}
