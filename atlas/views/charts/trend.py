"""How attempts went so far with memory and without, as one chart. It contains no text of memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

from atlas.core.statistics import SuccessRate
from atlas.views.charts.palette import GREY, PALETTE, PERCENT_AXIS, Chart
from atlas.views.shared.rates import rate_line
from atlas.views.shared.wording import percent

HEIGHT_PIXELS = 200
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
            *_line("Without", not_used, GREY, GREY_BAND),
            *_line("With memory", used, PALETTE[0], BAND),
        ],
        "layout": {
            "height": HEIGHT_PIXELS,
            "margin": {"l": 10, "r": 44, "t": 10, "b": 10},
            "annotations": [*_end(used, PALETTE[0]), *_end(not_used, GREY)],
            "legend": {"orientation": "h", "y": 1.2, "traceorder": "reversed"},
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


def _line(name: str, points: Sequence[tuple[date, SuccessRate]], colour: str, band: str) -> list[Chart]:
    """Return the ends of the interval as a band, and the rate as a line."""
    totals = accumulate((rate for _, rate in points), lambda one, other: _total([one, other]))
    known = [(on, rate, rate.interval) for (on, _), rate in zip(points, totals, strict=True) if rate.interval]
    edge: Chart = {
        "type": "scatter",
        "mode": "lines",
        "x": [on.isoformat() for on, _, _ in known],
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    return [
        {**edge, "y": [interval.low for _, _, interval in known]},
        {**edge, "y": [interval.high for _, _, interval in known], "fill": "tonexty", "fillcolor": band},
        {
            **edge,
            "mode": "lines" if len(known) > 1 else "markers",
            "name": name,
            "y": [rate.share for _, rate, _ in known],
            "line": {"color": colour, "width": 2},
            "text": [f"{rate.n_succeeded:,} of {rate.n_known:,}" for _, rate, _ in known],
            "hovertemplate": "until the week of %{x|%-d %b}: %{text} succeeded<extra>" + name + "</extra>",
            "hoverinfo": "all",
            "showlegend": True,
        },
    ]


def _end(points: Sequence[tuple[date, SuccessRate]], colour: str) -> list[Chart]:
    """Return the rate in the end as a label beside the line, or nothing if no outcome is known."""
    share = _total([rate for _, rate in points]).share
    if share is None:
        return []
    words = {"text": percent(share), "showarrow": False, "xanchor": "left", "font": {"color": colour}}
    return [{"x": 1.0, "xref": "paper", "y": share, **words}]


def _total(rates: Sequence[SuccessRate]) -> SuccessRate:
    return SuccessRate(
        n_succeeded=sum(rate.n_succeeded for rate in rates), n_failed=sum(rate.n_failed for rate in rates)
    )
