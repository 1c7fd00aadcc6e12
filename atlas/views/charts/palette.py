"""Plotly figures in colours of the theme that are safe for colour blindness, on light and on dark."""

from __future__ import annotations

from typing import Any

Chart = dict[str, Any]
"""A figure as Plotly takes it."""

PALETTE = ("#2f6fb0", "#c8662b", "#2e8b74", "#8a63a8", "#a8892a", "#5b7083", "#b5527a", "#5a8f3c")
GREY = "#8a949e"

OUTCOME_COLOURS = {"succeeded": PALETTE[0], "failed": PALETTE[1], "unknown": GREY}
