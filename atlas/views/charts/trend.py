"""Chart of the success rate over time, above the number of known outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from math import ceil

from atlas.core.statistics import ClusteredRate, Day, SuccessRate, clustered_rate, difference_interval
from atlas.views.charts.palette import BAND_COLOUR, GREY, PALETTE, PERCENT_AXIS, Chart
from atlas.views.charts.periods import Timeline, total
from atlas.views.kinds.verdicts import FEW_KNOWN
from atlas.views.shared.rates import interval_text, points, range_text, rate_text
from atlas.views.shared.wording import counted, day_text

BAR_COLOUR = "rgba(138, 148, 158, 0.45)"

LEAST_KNOWN = 5
"""Least number of known outcomes of a period whose rate is drawn. The rate of fewer jumps by chance."""

LEAST_SIDE = 0.05
"""Smallest share of all outcomes that each side of a comparison needs, as imports have the same day."""

N_LAST = 4
"""Number of periods that the sentence compares with the earlier ones."""

N_LABELS = 5
"""Most bars with the first day of their period below them."""

MAX_NUMBERED = 20
"""Number of periods up to which each bar has its number above it."""

LOW = 0.25
"""Least rate with room for a label below its point."""

NUMBER_ROOM = 1.6
"""Height of the axis of numbers over the highest bar, so that the number above it has room."""

TREND_MEANS = (
    "The line is the share of attempts that succeeded. "
    f"Periods of fewer than {LEAST_KNOWN} known outcomes have no point. "
    "The band is where the true rate lies (95%). The bars are the numbers of known outcomes."
)


@dataclass(frozen=True, slots=True)
class Side:
    """The attempts with a known outcome of one side of a comparison."""

    rate: SuccessRate
    clustered: ClusteredRate
    """The same rate, whose attempts at one task are not independent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The attempts of the last periods, and those of all periods before. Both sides have some."""

    since: date
    latest: Side
    earlier: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The periods of the chart, and how the last ones differ."""

    line: Timeline
    comparison: Comparison | None = None
    """None with too few periods, or no known outcome on a side."""


def side_of(successes: Sequence[bool], tasks: Sequence[str]) -> Side:
    """Return a side of a comparison.

    Args:
        successes: Whether each attempt succeeded, at least one.
        tasks: The task of each attempt.
    """
    n_succeeded = sum(successes)
    rate = SuccessRate(n_succeeded=n_succeeded, n_failed=len(successes) - n_succeeded)
    return Side(rate, clustered_rate(successes, tasks))


def is_drawn(line: Timeline) -> bool:
    """Return whether there are at least two periods whose rate is drawn."""
    return len(_with_rate(line.periods)) > 1


def first_compared(line: Timeline) -> date | None:
    """Return the first day of the last periods that are compared, or None without any period before them."""
    return line.periods[-N_LAST].on if len(line.periods) > N_LAST else None


def trend_chart(trend: Trend) -> Chart:
    """Return a line of success rates with their intervals, above bars of the numbers of known outcomes."""
    periods = trend.line.periods
    layout = _layout(trend.line)
    if trend.comparison:
        start_line, start_label = _mark_of_last_periods(trend.line)
        layout |= {"shapes": [start_line], "annotations": [*layout["annotations"], start_label]}
    return {"data": [_bars(periods), *_rates(_with_rate(periods))], "layout": layout}


def trend_verdict(trend: Trend) -> str:
    """Return `Yes: +5 points in the last 4 weeks, likely +1 to +9 points.`, or nothing with too few outcomes to judge.

    Source:
        `clustered_rate` for each side, and `difference_interval`. Tasks on both sides only make the interval wider.
    """
    comparison = trend.comparison
    if comparison is None:
        return ""
    numbers = (comparison.latest.rate.n_known, comparison.earlier.rate.n_known)
    if min(numbers) < max(FEW_KNOWN, LEAST_SIDE * sum(numbers)):
        return ""
    latest, earlier = comparison.latest.clustered, comparison.earlier.clustered
    (low, high), difference = difference_interval(latest, earlier), latest.mean - earlier.mean
    answer = _answer(difference, low, high)
    return f"{answer}: {points(difference)} in the {_last_periods(trend.line)}, {range_text(low, high)}."


def trend_sentence(trend: Trend) -> str:
    """Return `By week: 69% of 82 succeeded since 2 Nov 2026, 64% of 282 before.`, or no comparison."""
    line, comparison = trend.line, trend.comparison
    if comparison is None:
        rates = f"{_rate_with_number(total(line.days))} succeeded."
    else:
        latest, earlier = _rate_with_number(comparison.latest.rate), _rate_with_number(comparison.earlier.rate)
        rates = f"{latest} succeeded since {day_text(comparison.since)}, {earlier} before."
    return " ".join(filter(None, [f"By {line.span}: {rates}", _left_out_sentence(line)]))


def trend_caption(trend: Trend) -> str:
    """Return the alternative text of the chart."""
    start_text, end_text = (day_text(trend.line.days[end].on) for end in (0, -1))
    return " ".join(
        filter(None, [f"Success rate from {start_text} to {end_text}.", trend_verdict(trend), trend_sentence(trend)])
    )


def _last_periods(line: Timeline) -> str:
    """Return `last 4 weeks`, or `last 4 weeks of attempts` if the latest are longer ago."""
    return f"last {N_LAST} {line.span}s{'' if line.is_current else ' of attempts'}"


def _left_out_sentence(line: Timeline) -> str:
    """Return `This leaves out 1 earlier attempt and 2 dated after today.`, or nothing."""
    earlier = counted(line.n_earlier, "earlier attempt") if line.n_earlier else ""
    later = counted(line.n_later, "attempt") if not earlier else f"{line.n_later:,}"
    left_out = " and ".join(filter(None, [earlier, f"{later} dated after today" if line.n_later else ""]))
    return f"This leaves out {left_out}." if left_out else ""


def _answer(difference: float, low: float, high: float) -> str:
    """Return an answer to whether rates improved, given their difference and its 95% interval.

    It is not clear if the interval contains 0, or the difference is rounded to 0 points.
    """
    if low <= 0 <= high or not round(100 * difference):
        return "Not clear yet"
    return "Yes" if difference > 0 else "It got worse"


def _rate_with_number(rate: SuccessRate) -> str:
    return f"{rate_text(rate)} of {rate.n_known:,}"


def _with_rate(periods: Sequence[Day]) -> list[Day]:
    return [period for period in periods if period.rate.n_known >= LEAST_KNOWN]


def _bars(periods: Sequence[Day]) -> Chart:
    counts = [period.rate.n_known for period in periods]
    labels = [f"{count:,}" if count else "" for count in counts]
    if periods[-1].rate.n_known < LEAST_KNOWN:
        labels[-1] = f"too few<br>{labels[-1]}"  # a line that ends before the last bar would look like a mistake
    numbers = {"text": labels, "textposition": "outside", "constraintext": "none", "cliponaxis": False}
    return {
        "type": "bar",
        "x": [period.on.isoformat() for period in periods],
        "y": counts,
        "yaxis": "y2",
        "marker": {"color": BAR_COLOUR},
        "textfont": {"size": 11},
        "hovertemplate": "%{x|%-d %b %Y}: %{y:,} known outcomes<extra></extra>",
        **(numbers if len(periods) <= MAX_NUMBERED else {}),
    }


def _rates(periods: Sequence[Day]) -> list[Chart]:
    line: Chart = {"type": "scatter", "mode": "lines", "x": [period.on.isoformat() for period in periods]}
    edge = {**line, "line": {"width": 0}, "hoverinfo": "skip"}
    intervals = [interval for period in periods if (interval := period.rate.interval) is not None]
    rates = [period.rate for period in periods]
    positions = _label_positions([rate.share or 0.0 for rate in rates])
    return [
        {**edge, "y": [interval.low for interval in intervals]},
        {**edge, "y": [interval.high for interval in intervals], "fill": "tonexty", "fillcolor": BAND_COLOUR},
        {
            **line,
            "mode": "lines+markers+text",
            "y": [rate.share for rate in rates],
            "line": {"color": PALETTE[0], "width": 2},
            "marker": {"size": 4},
            "text": [rate_text(rate) if number in positions else "" for number, rate in enumerate(rates)],
            "textposition": [positions.get(number, "top center") for number in range(len(rates))],
            "textfont": {"size": 13},
            "cliponaxis": False,
            "customdata": [f"{rate_text(rate)} (likely {interval_text(rate)}, n = {rate.n_known:,})" for rate in rates],
            "hovertemplate": "%{x|%-d %b %Y}: %{customdata}<extra></extra>",
        },
    ]


def _label_positions(shares: Sequence[float]) -> dict[int, str]:
    """Return the position of the label beside its point, for the first, the last and the lowest point by number."""
    if not shares:
        return {}
    lowest = min(range(len(shares)), key=lambda number: shares[number])
    side = "bottom center" if shares[lowest] >= LOW else "top center"
    return {lowest: side, len(shares) - 1: "top center", 0: "top right"}


def _mark_of_last_periods(line: Timeline) -> tuple[Chart, Chart]:
    """Return a thin line between two bars, where the last periods begin, and its label, such as `last 4 weeks`."""
    start, previous_start = line.periods[-N_LAST].on, line.periods[-N_LAST - 1].on
    middle = (datetime.combine(previous_start, time()) + (start - previous_start) / 2).isoformat()
    place = {"x": middle, "y": 0, "xanchor": "left", "yanchor": "bottom", "xshift": 2}
    mark = {"type": "line", "x0": middle, "x1": middle, "y0": 0, "y1": 1, "yref": "paper"}
    return (
        {**mark, "line": {"color": GREY, "width": 1, "dash": "dot"}},
        {**place, "text": _last_periods(line), "showarrow": False, "font": {"size": 11}},
    )


def _days_with_label(periods: Sequence[Day]) -> list[date]:
    """Return the first days of the periods whose bars have a label. The first of the last periods is one of them."""
    step = ceil(len(periods) / N_LABELS)
    return [period.on for period in periods[(len(periods) - N_LAST) % step :: step]]


def _layout(line: Timeline) -> Chart:
    periods = line.periods
    year = "" if periods[0].on.year == periods[-1].on.year else " %Y"
    days_with_label = [day.isoformat() for day in _days_with_label(periods)]
    time_axis: Chart = {
        "type": "date",
        "tickvals": days_with_label,
        "tickformat": {"month": "%b %Y", "year": "%Y"}.get(line.span, f"%-d %b{year}"),
        "tickangle": 0,
        "anchor": "y2",
        "showgrid": False,
    }
    highest = max(period.rate.n_known for period in periods)
    return {
        "bargap": 0.25,
        "height": 156,
        "annotations": [
            {
                "x": 0,
                "xref": "paper",
                "xanchor": "right",
                "y": 0,
                "yref": "y2",
                "yanchor": "bottom",
                "text": "outcomes",
                "showarrow": False,
                "font": {"size": 11},
            },
        ],
        "margin": {"l": 58, "r": 16, "t": 10, "b": 22},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": time_axis,
        "yaxis": {"domain": [0.36, 1], "range": [0, 1], **PERCENT_AXIS},
        "yaxis2": {"domain": [0, 0.28], "range": [0, NUMBER_ROOM * highest], "visible": False, "fixedrange": True},
    }
