"""Chart of the success rate over time, above the number of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from atlas.core.statistics import Day, SuccessRate
from atlas.views.charts.palette import BAND_COLOUR, GREY, PALETTE, PERCENT_AXIS, Chart
from atlas.views.shared.rates import interval_text, rate_text
from atlas.views.shared.wording import OUTCOMES, day_text

BAR_COLOUR = "rgba(138, 148, 158, 0.45)"

MAX_DAYS = 14
MAX_WEEKS = 400
MAX_MONTHS = 3_660
"""Numbers of days beyond which a period is a week, a month or a year."""

LEAST_KNOWN = 5
"""Least number of known outcomes of a period whose rate is drawn. The rate of fewer jumps by chance."""

N_LAST = 4
"""Number of periods that the sentence compares with the earlier ones."""

MAX_NUMBERED = 20
"""Number of periods up to which each bar has its number of attempts above it."""

NUMBER_ROOM = 1.6
"""Height of the axis of numbers over the highest bar, so that the number above it has room."""

TREND_MEANS = (
    f"The line is the share of attempts that succeeded, without periods of fewer than {LEAST_KNOWN} known outcomes. "
    "The band is where the true rate lies (95%). The bars are the numbers of attempts."
)


def trend_chart(days: Sequence[Day]) -> Chart:
    """Return a line of success rates with their intervals, above bars of the numbers of attempts."""
    periods = _periods(days, _span(days))
    return {"data": [_bars(periods), *_rates(_measured(periods))], "layout": _layout(periods)}


def has_trend(days: Sequence[Day]) -> bool:
    """Return whether there are at least two periods whose rate is drawn."""
    return len(days) > 1 and len(_measured(_periods(days, _span(days)))) > 1


def trend_sentence(days: Sequence[Day]) -> str:
    """Return `By week: 69% of 82 succeeded since 2 Nov 2026, 64% of 282 before.`, or no comparison."""
    span = _span(days)
    periods = _periods(days, span)
    last, before = _total(periods[-N_LAST:]), _total(periods[:-N_LAST])
    if not last.n_known or not before.n_known:
        return f"By {span}: {_rate_of(_total(periods))} succeeded."
    since = day_text(periods[-N_LAST].on)
    return f"By {span}: {_rate_of(last)} succeeded since {since}, {_rate_of(before)} before."


def trend_caption(days: Sequence[Day]) -> str:
    """Return the alternative text of the chart."""
    return f"Success rate from {day_text(days[0].on)} to {day_text(days[-1].on)}. {trend_sentence(days)}"


def _rate_of(rate: SuccessRate) -> str:
    return f"{rate_text(rate)} of {rate.n_known:,}"


def _span(days: Sequence[Day]) -> str:
    n_days = (days[-1].on - days[0].on).days + 1
    most = {"day": MAX_DAYS, "week": MAX_WEEKS, "month": MAX_MONTHS}
    return next((span for span, n in most.items() if n_days <= n), "year")


def _periods(days: Sequence[Day], span: str) -> list[Day]:
    """Return the days grouped by span, including empty spans."""
    groups: dict[int, list[Day]] = {}
    for day in days:
        groups.setdefault(_number(day.on, span), []).append(day)
    return [
        Day(on=_start(number, span), rate=_total(groups.get(number, ())))
        for number in range(min(groups), max(groups) + 1)
    ]


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
    return SuccessRate.of({name: sum(getattr(day.rate, f"n_{name}") for day in days) for name in OUTCOMES})


def _measured(periods: Sequence[Day]) -> list[Day]:
    return [period for period in periods if period.rate.n_known >= LEAST_KNOWN]


def _bars(periods: Sequence[Day]) -> Chart:
    counts = [period.rate.n for period in periods]
    numbers = {"text": [n or "" for n in counts], "textposition": "outside", "cliponaxis": False}
    return {
        "type": "bar",
        "x": [period.on.isoformat() for period in periods],
        "y": counts,
        "yaxis": "y2",
        "marker": {"color": BAR_COLOUR},
        "textfont": {"size": 10, "color": GREY},
        "hovertemplate": "%{x|%-d %b %Y}: %{y:,} attempts<extra></extra>",
        **(numbers if len(periods) <= MAX_NUMBERED else {}),
    }


def _rates(measured: Sequence[Day]) -> list[Chart]:
    line: Chart = {"type": "scatter", "mode": "lines", "x": [period.on.isoformat() for period in measured]}
    edge = {**line, "line": {"width": 0}, "hoverinfo": "skip"}
    intervals = [interval for period in measured if (interval := period.rate.interval) is not None]
    rates = [period.rate for period in measured]
    ends = [rate_text(rate) if number in (0, len(rates) - 1) else "" for number, rate in enumerate(rates)]
    return [
        {**edge, "y": [interval.low for interval in intervals]},
        {**edge, "y": [interval.high for interval in intervals], "fill": "tonexty", "fillcolor": BAND_COLOUR},
        {
            **line,
            "mode": "lines+markers+text",
            "y": [rate.share for rate in rates],
            "line": {"color": PALETTE[0], "width": 2},
            "marker": {"size": 4},
            "text": ends,
            "textposition": "top center",
            "textfont": {"size": 13},
            "cliponaxis": False,
            "customdata": [f"{rate_text(rate)} (likely {interval_text(rate)}, n = {rate.n_known:,})" for rate in rates],
            "hovertemplate": "%{x|%-d %b %Y}: %{customdata}<extra></extra>",
        },
    ]


def _layout(periods: Sequence[Day]) -> Chart:
    across: Chart = {
        "type": "date",
        "tickformat": "%-d %b" if periods[0].on.year == periods[-1].on.year else "%b %Y",
        "tickangle": 0,
        "anchor": "y2",
        "nticks": 6,
        "showgrid": False,
    }
    highest = max(period.rate.n for period in periods)
    return {
        "bargap": 0.25,
        "height": 156,
        "margin": {"l": 40, "r": 16, "t": 10, "b": 22},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": across,
        "yaxis": {"domain": [0.36, 1], "range": [0, 1], **PERCENT_AXIS},
        "yaxis2": {"domain": [0, 0.28], "range": [0, NUMBER_ROOM * highest], "visible": False, "fixedrange": True},
    }
