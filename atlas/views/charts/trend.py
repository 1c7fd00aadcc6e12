"""How attempts went with memory and without, week by week, as one chart. It contains no text of memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from atlas.core.statistics import SuccessRate
from atlas.views.charts.palette import GREY, PALETTE, PERCENT_AXIS, Chart
from atlas.views.shared.wording import percent

HEIGHT_PIXELS = 200
FEW, MANY = 5, 14
"""Sizes of points in pixels: for a single attempt, and the maximum."""


@dataclass(frozen=True, slots=True)
class Week:
    """The attempts of one week at tasks that were tried both ways."""

    on: date
    """Its Monday."""

    used: SuccessRate
    not_used: SuccessRate


def trend_chart(weeks: Sequence[Week]) -> Chart:
    """Return the success rate of each week with memory and without. A point grows with its number of attempts."""
    return {
        "data": [
            _line("With memory", [(week.on, week.used) for week in weeks], PALETTE[0], "solid"),
            _line("Without", [(week.on, week.not_used) for week in weeks], GREY, "dot"),
        ],
        "layout": {
            "height": HEIGHT_PIXELS,
            "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
            "legend": {"orientation": "h", "y": 1.2},
            "dragmode": False,
            "xaxis": {"type": "date", "fixedrange": True, "automargin": True, "tickformat": "%-d %b"},
            "yaxis": {"range": [-0.05, 1.05], **PERCENT_AXIS, "automargin": True},
        },
    }


def trend_caption(weeks: Sequence[Week]) -> str:
    """Return the alternative text of the chart, in one line."""
    first, last = weeks[0], weeks[-1]
    return (
        f"Success by week from {first.on} to {last.on}. With memory {_span(first.used, last.used)}, "
        f"without {_span(first.not_used, last.not_used)}."
    )


def _span(first: SuccessRate, last: SuccessRate) -> str:
    return f"{_share(first)} in the first week and {_share(last)} in the last"


def _share(rate: SuccessRate) -> str:
    return "no attempt" if rate.share is None else percent(rate.share)


def _line(name: str, points: Sequence[tuple[date, SuccessRate]], colour: str, dash: str) -> Chart:
    known = [(on, rate) for on, rate in points if rate.n_known]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [on.isoformat() for on, _ in known],
        "y": [rate.share for _, rate in known],
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"color": colour, "size": [min(MANY, FEW + rate.n_known - 1) for _, rate in known]},
        "text": [f"{rate.n_succeeded:,} of {rate.n_known:,}" for _, rate in known],
        "hovertemplate": "%{x|week of %-d %b}: %{text} succeeded<extra>" + name + "</extra>",
    }
