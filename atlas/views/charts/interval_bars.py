"""A rate with its interval as a small picture for a table cell. It contains no text of memories."""

from __future__ import annotations

import base64

from atlas.core.statistics import Interval
from atlas.views.charts.palette import GREY, PALETTE

WIDTH, HEIGHT, MARGIN = 120, 28, 5

COLOUR = PALETTE[0]


def interval_bar(interval: Interval, rate: float) -> str:
    """Return a data URL of a picture: a line from 0 to 100%, on it the interval as a band, and the rate as a stroke.

    Args:
        interval: In [0, 1], as the rate.
    """
    low, high, at = (_x(share) for share in (interval.low, interval.high, rate))
    middle = HEIGHT / 2
    ticks = "".join(f'<line x1="{_x(s):.1f}" x2="{_x(s):.1f}" y1="7" y2="21" stroke="{GREY}"/>' for s in (0, 0.5, 1))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<line x1="{_x(0)}" x2="{_x(1)}" y1="{middle}" y2="{middle}" stroke="{GREY}"/>{ticks}'
        f'<rect x="{low:.1f}" y="8" width="{max(high - low, 1):.1f}" height="12" rx="2" fill="{COLOUR}" '
        f'fill-opacity="0.45" stroke="{COLOUR}"/>'
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="4" y2="24" stroke="{COLOUR}" stroke-width="3"/></svg>'
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _x(share: float) -> float:
    return MARGIN + share * (WIDTH - 2 * MARGIN)
