"""Chart of the success rate over time, above the number of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from atlas.core.statistics import ClusteredRate, Day, SuccessRate, difference_interval
from atlas.views.charts.palette import BAND_COLOUR, GREY, PALETTE, PERCENT_AXIS, Chart
from atlas.views.charts.periods import timeline, total
from atlas.views.shared.rates import interval_text, points, range_text, rate_text
from atlas.views.shared.wording import counted, day_text, whole_percent

BAR_COLOUR = "rgba(138, 148, 158, 0.45)"

LEAST_KNOWN = 5
"""Least number of known outcomes of a period whose rate is drawn. The rate of fewer jumps by chance."""

N_LAST = 4
"""Number of periods that the sentence compares with the earlier ones."""

PROBABLE = 1.281552 / 1.959964
"""Share of the margin of a 95% interval that the margin of an 80% interval is: that one excludes 0 in `Probably`."""

MAX_NUMBERED = 20
"""Number of periods up to which each bar has its number of attempts above it."""

LOW = 0.25
"""Least rate with room for a label below its point."""

NUMBER_ROOM = 1.6
"""Height of the axis of numbers over the highest bar, so that the number above it has room."""

TREND_MEANS = (
    "The line is the share of attempts that succeeded. "
    f"Periods of fewer than {LEAST_KNOWN} known outcomes have no point. "
    "The band is where the true rate lies (95%). The bars are the numbers of attempts."
)


def trend_chart(days: Sequence[Day]) -> Chart:
    """Return a line of success rates with their intervals, above bars of the numbers of attempts."""
    periods = timeline(days).periods
    return {"data": [_bars(periods), *_rates(_measured(periods))], "layout": _layout(periods)}


def has_trend(days: Sequence[Day]) -> bool:
    """Return whether there are at least two periods whose rate is drawn."""
    return len(days) > 1 and len(_measured(timeline(days).periods)) > 1


def trend_verdict(days: Sequence[Day]) -> str:
    """Return `Probably: +5 points since 2 Nov 2026, likely +1 to +9 points.`, or nothing without a comparison."""
    comparison = _comparison(days)
    if comparison is None:
        return ""
    last, before = (ClusteredRate(mean=rate.share or 0.0, n_effective=rate.n_known) for rate in comparison.rates)
    low, high = difference_interval(last, before)
    answer = _answer(last.mean - before.mean, low, high)
    difference = (whole_percent(last.mean) - whole_percent(before.mean)) / 100  # of the rates as they are written
    return f"{answer}: {points(difference)} since {day_text(comparison.since)}, {range_text(low, high)}."


def trend_sentence(days: Sequence[Day]) -> str:
    """Return `By week: 69% of 82 succeeded since 2 Nov 2026, 64% of 282 before.`, or no comparison."""
    line, comparison = timeline(days), _comparison(days)
    span = f"By {line.span}: "
    note = f" The chart leaves out {counted(total(line.earlier).n, 'earlier attempt')}." if line.earlier else ""
    if comparison is None:
        return f"{span}{_rate_of(total(days))} succeeded.{note}"
    last, before = map(_rate_of, comparison.rates)
    return f"{span}{last} succeeded since {day_text(comparison.since)}, {before} before.{note}"


def trend_caption(days: Sequence[Day]) -> str:
    """Return the alternative text of the chart."""
    periods = timeline(days).periods
    first, last = max(days[0].on, periods[0].on), days[-1].on
    sentences = [f"Success rate from {day_text(first)} to {day_text(last)}.", trend_verdict(days), trend_sentence(days)]
    return " ".join(filter(None, sentences))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """The rates of the last periods and of all days before."""

    since: date
    rates: tuple[SuccessRate, SuccessRate]


def _comparison(days: Sequence[Day]) -> _Comparison | None:
    """Return the last periods against all before, or None without known outcomes on both sides."""
    periods = timeline(days).periods
    if len(periods) <= N_LAST:
        return None
    since = periods[-N_LAST].on
    last, before = (total([day for day in days if (day.on >= since) == is_last]) for is_last in (True, False))
    return _Comparison(since=since, rates=(last, before)) if last.n_known and before.n_known else None


def _answer(difference: float, low: float, high: float) -> str:
    """Return whether a difference of rates is an improvement, by its 95% interval."""
    direction = "Yes" if difference > 0 else "It got worse"
    if low > 0 or high < 0:
        return direction
    margin = difference - low if difference > 0 else high - difference
    if abs(difference) > PROBABLE * margin:
        return "Probably" if difference > 0 else "It probably got worse"
    return "Not clear yet"


def _rate_of(rate: SuccessRate) -> str:
    return f"{rate_text(rate)} of {rate.n_known:,}"


def _measured(periods: Sequence[Day]) -> list[Day]:
    return [period for period in periods if period.rate.n_known >= LEAST_KNOWN]


def _bars(periods: Sequence[Day]) -> Chart:
    counts = [period.rate.n for period in periods]
    labels = [f"{n:,}" if n else "" for n in counts]
    if periods[-1].rate.n_known < LEAST_KNOWN:
        labels[-1] = f"too few<br>{labels[-1]}"  # a line that ends before the last bar would look like a mistake
    numbers = {"text": labels, "textposition": "outside", "constraintext": "none", "cliponaxis": False}
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
    labels = _labels([rate.share or 0.0 for rate in rates])
    return [
        {**edge, "y": [interval.low for interval in intervals]},
        {**edge, "y": [interval.high for interval in intervals], "fill": "tonexty", "fillcolor": BAND_COLOUR},
        {
            **line,
            "mode": "lines+markers+text",
            "y": [rate.share for rate in rates],
            "line": {"color": PALETTE[0], "width": 2},
            "marker": {"size": 4},
            "text": [rate_text(rate) if number in labels else "" for number, rate in enumerate(rates)],
            "textposition": [labels.get(number, "top center") for number in range(len(rates))],
            "textfont": {"size": 13},
            "cliponaxis": False,
            "customdata": [f"{rate_text(rate)} (likely {interval_text(rate)}, n = {rate.n_known:,})" for rate in rates],
            "hovertemplate": "%{x|%-d %b %Y}: %{customdata}<extra></extra>",
        },
    ]


def _labels(shares: Sequence[float]) -> dict[int, str]:
    """Return where the labels of the first, the last and the lowest point stand, by the number of the point."""
    if not shares:
        return {}
    lowest = min(range(len(shares)), key=lambda number: shares[number])
    below = "bottom center" if shares[lowest] >= LOW else "top center"
    return {lowest: below, len(shares) - 1: "top center", 0: "top right"}


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
