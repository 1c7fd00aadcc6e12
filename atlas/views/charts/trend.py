"""Chart of a memory's growth and success rate over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from atlas.core.statistics import Day, SuccessRate
from atlas.views.charts.palette import OUTCOME_COLOURS, PALETTE, PERCENT_AXIS, Chart
from atlas.views.shared.rates import interval_text, rate_text
from atlas.views.shared.wording import OUTCOMES, counted, day_text

RATE_COLOUR, BAND_COLOUR = PALETTE[0], "rgba(47, 111, 176, 0.18)"

MAX_DAYS = 120
MAX_WEEKS = 800
MAX_MONTHS = 36_525
"""Numbers of days beyond which a bar is a week, a month or a year."""

FEW_BARS = 8
DAY_MILLISECONDS = 86_400_000


def growth_chart(days: Sequence[Day]) -> Chart:
    """Return bars of new attempts by outcome, above the cumulative success rate with its interval."""
    span = _span(days)
    bars = _gather(days, span)
    return {"data": [*_bars(bars), *_rate(bars)], "layout": _layout(len(bars), span)}


def growth_caption(days: Sequence[Day]) -> str:
    """Return the alternative text of the chart, in one line."""
    last = days[-1].until_then
    return (
        f"From {day_text(days[0].on)} to {day_text(days[-1].on)}, by {_span(days)} of the attempt: "
        f"{counted(last.n, 'experience')}, of which {rate_text(last)} succeeded"
    )


def _span(days: Sequence[Day]) -> str:
    n_days = (days[-1].on - days[0].on).days + 1
    most = {"day": MAX_DAYS, "week": MAX_WEEKS, "month": MAX_MONTHS}
    return next((span for span, n in most.items() if n_days <= n), "year")


def _gather(days: Sequence[Day], span: str) -> list[Day]:
    """Return the days grouped by span, including empty spans."""
    groups: dict[int, list[Day]] = {}
    for day in days:
        groups.setdefault(_number(day.on, span), []).append(day)
    bars, until_then = list[Day](), SuccessRate()
    for number in range(min(groups), max(groups) + 1):
        group = groups.get(number, [])
        until_then = group[-1].until_then if group else until_then
        bars.append(Day(on=_start(number, span), added=_total(group), until_then=until_then))
    return bars


def _number(on: date, span: str) -> int:
    """Return the ordinal number of a day's calendar span."""
    months = 12 * on.year + on.month - 1
    return {"day": on.toordinal(), "week": (on.toordinal() - 1) // 7, "month": months, "year": on.year}[span]


def _start(number: int, span: str) -> date:
    """Return the first day of a span: of a week its Monday, as 0001-01-01 was one."""
    if span in ("day", "week"):
        return date.fromordinal(number if span == "day" else 7 * number + 1)
    return date(number // 12, number % 12 + 1, 1) if span == "month" else date(number, 1, 1)


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
            "marker": {"color": OUTCOME_COLOURS[name]},
            "hovertemplate": f"%{{x|%-d %b %Y}}: %{{y:,}} {name}<extra></extra>",
        }
        for name in OUTCOMES
        if any(counts[name])
    ]


def _rate(bars: Sequence[Day]) -> list[Chart]:
    measured = [(bar, interval) for bar in bars if (interval := bar.until_then.interval) is not None]
    line: Chart = {"type": "scatter", "mode": "lines", "yaxis": "y2", "showlegend": False}
    line["x"] = [bar.on.isoformat() for bar, _ in measured]
    edge = {**line, "line": {"width": 0}, "hoverinfo": "skip"}
    labels = [
        f"{rate_text(b.until_then)}, {interval_text(b.until_then)}, n = {b.until_then.n_known:,}" for b, _ in measured
    ]
    return [
        {**edge, "y": [interval.low for _, interval in measured]},
        {**edge, "y": [interval.high for _, interval in measured], "fill": "tonexty", "fillcolor": BAND_COLOUR},
        {
            **line,
            "mode": "lines" if len(measured) > 1 else "markers",
            "y": [bar.until_then.share for bar, _ in measured],
            "line": {"color": RATE_COLOUR, "width": 2},
            "text": labels,
            "hovertemplate": "until %{x|%-d %b %Y}: %{text}<extra></extra>",
        },
    ]


def _layout(n_bars: int, span: str) -> Chart:
    across: Chart = {
        "type": "date",
        "tickformat": "%-d %b\n%Y",
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
            **PERCENT_AXIS,
        },
    }
