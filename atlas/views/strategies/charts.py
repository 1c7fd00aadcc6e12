"""Charts of a strategy's tries over time, with several estimates of its success rate. They contain no memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.core.operations import Use
from atlas.core.statistics import credible_interval
from atlas.core.types import Outcome
from atlas.memory.base.success_rates import (
    BayesianUpdater,
    EMASuccessUpdater,
    RecencyWeightedUpdater,
    SimpleAverageUpdater,
    replay,
)
from atlas.protocols.strategies import SuccessRateUpdater
from atlas.views.charts.palette import BAND_COLOUR, OUTCOME_COLOURS, PALETTE, Chart
from atlas.views.shared.rates import likely
from atlas.views.shared.wording import percent, utc_time_text

UPDATERS: Mapping[str, SuccessRateUpdater] = {
    "Moving average (alpha 0.1)": EMASuccessUpdater(),
    "Plain average": SimpleAverageUpdater(),
    "Bayesian (uniform prior)": BayesianUpdater(),
    "Recent first (half-life 10 uses)": RecencyWeightedUpdater(),
}
"""The compared estimators, by label."""

MAX_POINTS = 2_000
"""Number of latest tries in a chart. Among more, single ones would not be visible."""


def tries_chart(attempts: Sequence[Use]) -> Chart:
    """Return a chart of the success rate until each try with its 95% interval, and each try as a mark at 100 or 0%.

    Args:
        attempts: Oldest first; at least one.
    """
    points, n_succeeded = [], 0
    for number, attempt in enumerate(attempts, start=1):
        n_succeeded += attempt.success
        points.append((number, attempt, n_succeeded / number, credible_interval(n_succeeded, number)))
    points = points[-MAX_POINTS:]
    line: Chart = {"type": "scatter", "mode": "lines", "showlegend": False, "x": [number for number, *_ in points]}
    interval_edge = {**line, "line": {"width": 0}, "hoverinfo": "skip"}
    labels = [f"{percent(rate)} of {number:,}, {likely(interval)}" for number, _, rate, interval in points]
    return {
        "data": [
            {**interval_edge, "y": [interval.low for *_, interval in points]},
            {
                **interval_edge,
                "y": [interval.high for *_, interval in points],
                "fill": "tonexty",
                "fillcolor": BAND_COLOUR,
            },
            {
                **line,
                "mode": "lines" if len(points) > 1 else "markers",
                "y": [rate for _, _, rate, _ in points],
                "line": {"color": PALETTE[0], "width": 2},
                "text": labels,
                "hovertemplate": "until use %{x}: %{text}<extra></extra>",
            },
            *_marks(points),
        ],
        "layout": _layout("uses, oldest first"),
    }


def tries_caption(attempts: Sequence[Use]) -> str:
    """Return the alternative text of the chart, in one line."""
    n_succeeded = sum(attempt.success for attempt in attempts)
    return (
        f"{n_succeeded:,} of {len(attempts):,} uses succeeded, from {utc_time_text(attempts[0].at)} "
        f"to {utc_time_text(attempts[-1].at)}"
    )


def updaters_chart(attempts: Sequence[Use]) -> Chart:
    """Return a chart of the success rate after each try, for each way of counting."""
    traces = []
    for colour, (name, updater) in zip(PALETTE, UPDATERS.items(), strict=False):
        points = replay(updater, attempts)[-MAX_POINTS:]
        trace: Chart = {
            "type": "scatter",
            "mode": "lines" if len(points) > 1 else "markers",
            "name": name,
            "x": [point.count for point in points],
            "y": [point.rate for point in points],
            "text": [percent(point.rate) for point in points],
            "line": {"color": colour, "width": 2},
            "hovertemplate": f"{name}, after use %{{x}}: %{{text}}<extra></extra>",
        }
        traces.append(trace)
    return {"data": traces, "layout": _layout("uses, oldest first")}


def updater_estimates(attempts: Sequence[Use]) -> tuple[tuple[str, float], ...]:
    """Return the name of each way of counting, and the success rate in [0, 1] that it gives for all tries."""
    replayed = ((name, replay(updater, attempts)) for name, updater in UPDATERS.items())
    return tuple((name, points[-1].rate) for name, points in replayed if points)


def _marks(points: Sequence[tuple[int, Use, float, Any]]) -> list[Chart]:
    traces = []
    for is_success in (True, False):
        tries = [(number, attempt) for number, attempt, *_ in points if attempt.success is is_success]
        label = Outcome(is_success).label
        trace: Chart = {
            "type": "scatter",
            "mode": "markers",
            "name": label,
            "x": [number for number, _ in tries],
            "y": [1.0 if is_success else 0.0] * len(tries),
            "marker": {"color": OUTCOME_COLOURS[label], "size": 7, "symbol": "circle" if is_success else "x"},
            "text": [utc_time_text(attempt.at) for _, attempt in tries],
            "hovertemplate": f"use %{{x}}, {label}, %{{text}}<extra></extra>",
        }
        traces += [trace] if tries else []
    return traces


def _layout(axis_title: str) -> Chart:
    return {
        "height": 190,
        "margin": {"l": 44, "r": 10, "t": 28, "b": 40},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": {"title": {"text": axis_title}, "fixedrange": True, "showgrid": False, "tickformat": "d", "nticks": 8},
        "yaxis": {"range": [-0.05, 1.05], "tickvals": [0, 0.5, 1], "ticktext": ["0%", "50%", "100%"],
                  "fixedrange": True},
    }  # fmt: skip
