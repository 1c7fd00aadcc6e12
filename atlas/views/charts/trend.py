"""How attempts went so far with memory and without, as one chart. It contains no text of memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

from atlas.core.statistics import SuccessRate
from atlas.views.charts.palette import GREY, PALETTE, PERCENT_AXIS, Chart
from atlas.views.shared.rates import rate_line

WITH, WITHOUT = "With memory", "Without"
COLOURS = {WITH: PALETTE[0], WITHOUT: GREY}
HEIGHT_PIXELS = 200
CLOSE, CLOSE_PIXELS = 0.12, 8
"""Difference of two shares under which their names would overlap, and how far these are then pushed apart."""

BAND, GREY_BAND = "rgba(47, 111, 176, 0.16)", "rgba(128, 138, 148, 0.18)"
"""Colours of the intervals, with memory and without."""


@dataclass(frozen=True, slots=True)
class Week:
    """The attempts of one week at tasks that were tried both ways."""

    on: date
    """Its Monday."""

    used: SuccessRate
    not_used: SuccessRate


def trend_chart(weeks: Sequence[Week]) -> Chart:
    """Return the success rate of all attempts until each week, with memory and without, with its 95 % interval."""
    used, not_used = [(week.on, week.used) for week in weeks], [(week.on, week.not_used) for week in weeks]
    return {
        "data": [
            *_line(WITHOUT, not_used, GREY_BAND),
            *_line(WITH, used, BAND),
        ],
        "layout": {
            "height": HEIGHT_PIXELS,
            "margin": {"l": 10, "r": 104, "t": 10, "b": 10},
            "annotations": _ends({WITH: used, WITHOUT: not_used}),
            "showlegend": False,
            "dragmode": False,
            "xaxis": {"type": "date", "fixedrange": True, "automargin": True, "tickformat": "%-d %b"},
            "yaxis": {"range": [0, 1], **PERCENT_AXIS, "automargin": True},
        },
    }


def trend_caption(weeks: Sequence[Week]) -> str:
    """Return the alternative text of the chart, in one line."""
    used, not_used = _total([week.used for week in weeks]), _total([week.not_used for week in weeks])
    return (
        f"Success of all attempts so far, from {weeks[0].on} to {weeks[-1].on}. "
        f"In the end {rate_line(used)} with memory, and {rate_line(not_used)} without."
    )


def _line(name: str, points: Sequence[tuple[date, SuccessRate]], band: str) -> list[Chart]:
    """Return the ends of the interval as a band, and the rate as a line."""
    totals = accumulate((rate for _, rate in points), lambda one, other: _total([one, other]))
    known = [(on, rate, rate.interval) for (on, _), rate in zip(points, totals, strict=True) if rate.interval]
    edge: Chart = {
        "type": "scatter",
        "mode": "lines",
        "x": [on.isoformat() for on, _, _ in known],
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    return [
        {**edge, "y": [interval.low for _, _, interval in known]},
        {**edge, "y": [interval.high for _, _, interval in known], "fill": "tonexty", "fillcolor": band},
        {
            **edge,
            "mode": "lines" if len(known) > 1 else "markers",
            "name": name,
            "y": [rate.share for _, rate, _ in known],
            "line": {"color": COLOURS[name], "width": 2},
            "text": [f"{rate.n_succeeded:,} of {rate.n_known:,}" for _, rate, _ in known],
            "hovertemplate": "until the week of %{x|%-d %b}: %{text} succeeded<extra>" + name + "</extra>",
            "hoverinfo": "all",
        },
    ]


def _ends(lines: Mapping[str, Sequence[tuple[date, SuccessRate]]]) -> list[Chart]:
    """Return the names of the lines, each beside its end. Those that end close together are pushed apart.

    They have the colour of other text, because the colour of a line is too faint on a dark page.
    """
    shares = {name: _total([rate for _, rate in points]).share for name, points in lines.items()}
    known = sorted((share, name) for name, share in shares.items() if share is not None)
    is_close = len(known) > 1 and known[1][0] - known[0][0] < CLOSE
    shifts = (-CLOSE_PIXELS, CLOSE_PIXELS) if is_close else (0, 0)
    place: Chart = {"x": 1.0, "xref": "paper", "xanchor": "left", "showarrow": False}
    return [
        {**place, "y": share, "yshift": shift, "text": name}
        for (share, name), shift in zip(known, shifts, strict=False)
    ]


def _total(rates: Sequence[SuccessRate]) -> SuccessRate:
    return SuccessRate(
        n_succeeded=sum(rate.n_succeeded for rate in rates), n_failed=sum(rate.n_failed for rate in rates)
    )
