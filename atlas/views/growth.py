"""How a memory grew, and how well it went over time, as one chart. It holds nothing that memories hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

from atlas.analysis.statistics import Day, SuccessRate
from atlas.views.rates import interval_text, rate_text
from atlas.views.wording import OUTCOMES, counted

COLOURS = {"succeeded": "#2f6fb0", "failed": "#c8662b", "unknown": "#8a97a3"}
"""Those of the theme: told apart by people who cannot tell red from green, on light and on dark."""

RATE_COLOUR, BAND_COLOUR = "#2f6fb0", "rgba(47, 111, 176, 0.18)"

MOST_DAYS = 120
MOST_WEEKS = 800
"""Days beyond which a bar stands for a week, or for a month."""

FEW_BARS = 8
DAY_MILLISECONDS = 86_400_000

Chart = dict[str, Any]
"""A figure as Plotly takes it."""


def growth_chart(days: Sequence[Day]) -> Chart:
    """Bars of what came, by outcome, over the success rate of all that there was by then, with its interval."""
    span, first_of = _spans(len(days))
    bars = _gathered(days, first_of)
    return {"data": [*_bars(bars), *_rate(bars)], "layout": _layout(len(bars), span)}


def growth_caption(days: Sequence[Day]) -> str:
    """What the chart shows, in one line for those who cannot see it."""
    span, _ = _spans(len(days))
    last = days[-1].until_then
    return (
        f"From {days[0].on} to {days[-1].on}, by {span} of the attempt: {counted(last.n, 'experience')}, "
        f"of which {rate_text(last)} succeeded"
    )


def _spans(n_days: int) -> tuple[str, Callable[[date], date]]:
    if n_days <= MOST_DAYS:
        return "day", lambda on: on
    if n_days <= MOST_WEEKS:
        return "week", lambda on: on - timedelta(days=on.weekday())
    return "month", lambda on: on.replace(day=1)


def _gathered(days: Sequence[Day], first_of: Callable[[date], date]) -> list[Day]:
    """The days, those of one week or month put together."""
    spans: dict[date, list[Day]] = {}
    for day in days:
        spans.setdefault(first_of(day.on), []).append(day)
    return [Day(on=on, added=_total(within), until_then=within[-1].until_then) for on, within in spans.items()]


def _total(days: Sequence[Day]) -> SuccessRate:
    return SuccessRate.of({name: sum(getattr(day.added, f"n_{name}") for day in days) for name in OUTCOMES})


def _bars(bars: Sequence[Day]) -> list[Chart]:
    counts = {name: [getattr(bar.added, f"n_{name}") for bar in bars] for name in OUTCOMES}
    return [
        {
            "type": "bar",
            "name": name,
            "x": [bar.on.isoformat() for bar in bars],
            "y": counts[name],
            "marker": {"color": COLOURS[name]},
            "hovertemplate": f"%{{x|%Y-%m-%d}}: %{{y:,}} {name}<extra></extra>",
        }
        for name in OUTCOMES
        if any(counts[name])
    ]


def _rate(bars: Sequence[Day]) -> list[Chart]:
    known = [(bar, interval) for bar in bars if (interval := bar.until_then.interval) is not None]
    line: Chart = {"type": "scatter", "mode": "lines", "yaxis": "y2", "showlegend": False}
    line["x"] = [bar.on.isoformat() for bar, _ in known]
    edge = {**line, "line": {"width": 0}, "hoverinfo": "skip"}
    said = [f"{rate_text(b.until_then)}, {interval_text(b.until_then)}, n = {b.until_then.n_known:,}" for b, _ in known]
    return [
        {**edge, "y": [interval.low for _, interval in known]},
        {**edge, "y": [interval.high for _, interval in known], "fill": "tonexty", "fillcolor": BAND_COLOUR},
        {
            **line,
            "mode": "lines" if len(known) > 1 else "markers",
            "y": [bar.until_then.share for bar, _ in known],
            "line": {"color": RATE_COLOUR, "width": 2},
            "text": said,
            "hovertemplate": "until %{x|%Y-%m-%d}: %{text}<extra></extra>",
        },
    ]


def _layout(n_bars: int, span: str) -> Chart:
    across: Chart = {
        "type": "date",
        "tickformat": "%d %b\n%Y",
        "tickangle": 0,
        "anchor": "y2",
        "nticks": 7,
        "showgrid": False,
    }
    if n_bars < FEW_BARS and span == "day":
        across["dtick"] = DAY_MILLISECONDS
    return {
        "barmode": "stack",
        "bargap": 0.15,
        "height": 340,
        "margin": {"l": 60, "r": 10, "t": 10, "b": 40},
        "legend": {"orientation": "h", "x": 0, "y": 1.12, "traceorder": "normal"},
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": across,
        "yaxis": {"domain": [0.42, 1], "title": {"text": f"new by {span}"}, "fixedrange": True, "rangemode": "tozero"},
        "yaxis2": {
            "domain": [0, 0.32],
            "title": {"text": "succeeded"},
            "range": [0, 1],
            "tickformat": ".0%",
            "fixedrange": True,
            "nticks": 3,
        },
    }
