"""Charts of how well a store is searched."""

from __future__ import annotations

import html
from collections.abc import Sequence

from atlas.core.statistics import Estimate
from atlas.evaluation.judged import JUDGED_TASK
from atlas.evaluation.leave_one_out import OWN_ATTEMPTS
from atlas.views.charts.palette import FAILURE_COLOUR, GREY, Chart
from atlas.views.evaluation.own import MeasureRow, estimate_text
from atlas.views.evaluation.strictness import COLOURS, JUDGED_RIGHT, OWN_RIGHT

ROW_PIXELS, AXIS_PIXELS = 30, 70


COLOUR_OF = {OWN_ATTEMPTS: COLOURS[OWN_RIGHT], JUDGED_TASK: COLOURS[JUDGED_RIGHT]}
"""Colour of the measures on the queries of a task."""


def measured_chart(measure: MeasureRow, task_name: str = OWN_ATTEMPTS) -> Chart:
    """Return each search with its value and 95% interval, and on the right its difference from current searches.

    Args:
        measure: The values.
        task_name: Name of the task whose queries were searched with.
    """
    colour = COLOUR_OF[task_name]
    labels = [html.escape(row.setting) for row in measure.rows]
    left = _points([row.value for row in measure.rows], labels, "x", [colour] * len(labels))
    differing = [(label, row.difference) for label, row in zip(labels, measure.rows, strict=True) if row.difference]
    right = _points(
        [estimate for _, estimate in differing],
        [label for label, _ in differing],
        "x2",
        _verdicts(measure, differing, colour),
    )
    line: Chart = {
        "type": "line",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": GREY, "dash": "dot", "width": 1},
    }
    across = {"fixedrange": True, "zeroline": False, "nticks": 5, "tickangle": 0}
    return {
        "data": [left, right],
        "layout": {
            "height": ROW_PIXELS * len(labels) + AXIS_PIXELS,
            "margin": {"l": 10, "r": 10, "t": 24, "b": 24},
            "showlegend": False,
            "dragmode": False,
            "hovermode": "closest",
            "yaxis": {"autorange": "reversed", "automargin": True, "fixedrange": True, "type": "category",
                      "categoryorder": "array", "categoryarray": labels},
            "xaxis": {**across, "domain": [0, 0.58]},
            "xaxis2": {**across, "domain": [0.66, 1], "tickformat": "+.2~f", "nticks": 4},
            "shapes": [
                {**line, "xref": "x", "x0": measure.chance, "x1": measure.chance},
                {**line, "xref": "x2", "x0": 0, "x1": 0},
            ],
            "annotations": [
                _title("x domain", "measured"),
                _title("x2 domain", "difference"),
            ],
        },
    }  # fmt: skip


def _points(estimates: Sequence[Estimate], labels: Sequence[str], axis: str, colours: Sequence[str]) -> Chart:
    ends = [estimate.interval for estimate in estimates]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [estimate.mean for estimate in estimates],
        "y": list(labels),
        "xaxis": axis,
        "marker": {"size": 9, "color": list(colours)},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [end.high - estimate.mean if end else 0 for estimate, end in zip(estimates, ends, strict=True)],
            "arrayminus": [
                estimate.mean - end.low if end else 0 for estimate, end in zip(estimates, ends, strict=True)
            ],
            "color": GREY,
            "thickness": 1.5,
            "width": 4,
        },
        "text": [estimate_text(estimate) for estimate in estimates],
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }


def _verdicts(measure: MeasureRow, differing: Sequence[tuple[str, Estimate]], better: str) -> list[str]:
    """Return grey if the interval contains 0, else the colour of a better search, or red for a worse one."""
    colours = list[str]()
    for _, estimate in differing:
        is_unclear = estimate.interval is None or estimate.interval.low <= 0 <= estimate.interval.high
        is_improvement = (estimate.mean < 0) == measure.is_less_better
        colours.append(GREY if is_unclear else better if is_improvement else FAILURE_COLOUR)
    return colours


def _title(across: str, text: str) -> Chart:
    return {"xref": across, "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "text": text,
            "showarrow": False}  # fmt: skip
