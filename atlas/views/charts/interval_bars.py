"""A rate with its interval as a small picture, and as a line with its figures. Neither contains text of memories."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from atlas.core.statistics import Interval, credible_interval
from atlas.views.charts.palette import GREY, PALETTE
from atlas.views.shared.rates import likely
from atlas.views.shared.wording import counted

WIDTH, HEIGHT, MARGIN = 120, 28, 5
LABEL_PIXELS = 10
"""Height of the labels below a picture with a scale."""

COLOUR = PALETTE[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarLine:
    """A success rate as a picture between its name and its figures. Trusted text."""

    name: str
    bar: str
    """The picture, as a data URL."""

    counts: str
    """`53 of 78 similar attempts`."""

    range: str
    """`likely 57–77%`."""


def bar_line(name: str, n_succeeded: int, n_tries: int, noun: str = "use", *, has_scale: bool = True) -> BarLine:
    """Return the line of a rate.

    Args:
        n_tries: At least 1.
        noun: Noun for each of the tries.
        has_scale: Whether 0, 50 and 100% are written below the bar.
    """
    interval = credible_interval(n_succeeded, n_tries)
    return BarLine(
        name=name,
        bar=interval_bar(interval, n_succeeded / n_tries, has_scale=has_scale),
        counts=f"{n_succeeded:,} of {counted(n_tries, noun)}",
        range=likely(interval),
    )


def interval_bar(interval: Interval, rate: float, *, has_scale: bool = False) -> str:
    """Return a picture of a rate with its interval, as a data URL: a line from 0 to 100%, a band on it, and a stroke.

    Args:
        interval: The band, in [0, 1].
        rate: The stroke, in [0, 1].
        has_scale: Whether 0, 50 and 100% are written below the line.
    """
    left, right, stroke = (_x(share) for share in (interval.low, interval.high, rate))
    middle = HEIGHT / 2
    tick_places = [f"{_x(share):.1f}" for share in (0, 0.5, 1)]
    ticks = "".join(f'<line x1="{x}" x2="{x}" y1="7" y2="21" stroke="{GREY}"/>' for x in tick_places)
    height, labels = (HEIGHT + LABEL_PIXELS, _scale()) if has_scale else (HEIGHT, "")
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">'
        f'<line x1="{_x(0)}" x2="{_x(1)}" y1="{middle}" y2="{middle}" stroke="{GREY}"/>{ticks}'
        f'<rect x="{left:.1f}" y="8" width="{max(right - left, 1):.1f}" height="12" rx="2" fill="{COLOUR}" '
        f'fill-opacity="0.45" stroke="{COLOUR}"/>'
        f'<line x1="{stroke:.1f}" x2="{stroke:.1f}" y1="4" y2="24" stroke="{COLOUR}" stroke-width="3"/>{labels}</svg>'
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _scale() -> str:
    """Return the labels of the ends and of the middle."""
    places = ((0, 0, "start"), (_x(0.5), 50, "middle"), (WIDTH, 100, "end"))
    return "".join(
        f'<text x="{x}" y="{HEIGHT + LABEL_PIXELS - 2}" text-anchor="{anchor}" font-family="sans-serif" font-size="10" '
        f'fill="{GREY}">{percent}%</text>'
        for x, percent, anchor in places
    )


def _x(share: float) -> float:
    return MARGIN + share * (WIDTH - 2 * MARGIN)
