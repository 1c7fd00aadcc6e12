"""How tasks went without memory and with it, as one chart. It contains no text of memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from atlas.views.charts.palette import GREY, PALETTE, PERCENT_AXIS, Chart
from atlas.views.shared.wording import counted, percent

Slope = tuple[float, float]
"""Success rates of a task without memory and with it, in [0, 1]."""

HEIGHT_PIXELS = 250
ENDS = ("without memory", "with memory")
MAX_WIDTH = 12
"""Width in pixels of the widest line, for many tasks with equal rates."""

AVERAGE_COLOUR = PALETTE[6]
"""The colour of the average, which no task has, on light and on dark."""


def slopes_chart(slopes: Sequence[Slope], average: Slope) -> Chart:
    """Return a line for each task, wider for several with equal rates, and a heavy one for their average."""
    alike = sorted(Counter(slopes).items(), key=lambda item: -item[1])
    beside: Chart = {"showarrow": False, "font": {"size": 16, "color": AVERAGE_COLOUR}}
    return {
        "data": [
            *(_line(slope, f"{counted(n, 'task')}: {_text(slope)}", _colour(slope), min(2 * n, MAX_WIDTH), 0.4)
              for slope, n in alike),
            _line(average, f"average: {_text(average)}", AVERAGE_COLOUR, 6, 1.0),
        ],
        "layout": {
            "height": HEIGHT_PIXELS, "margin": {"l": 10, "r": 60, "t": 10, "b": 10}, "showlegend": False,
            "dragmode": False, "hovermode": "closest",
            "annotations": [
                {**beside, "x": at, "y": share, "xanchor": anchor, "xshift": shift, "text": f"<b>{percent(share)}</b>"}
                for at, share, anchor, shift in zip((0, 1), average, ("right", "left"), (-6, 8), strict=True)
            ],
            "xaxis": {"range": [-0.16, 1], "tickvals": [0, 1], "ticktext": ENDS, "fixedrange": True, "zeroline": False,
                      "showgrid": False, "automargin": True},
            "yaxis": {"range": [-0.05, 1.05], **PERCENT_AXIS, "zeroline": False, "automargin": True},
        },
    }  # fmt: skip


def slopes_caption(slopes: Sequence[Slope], average: Slope) -> str:
    """Return the alternative text of the chart, in one line."""
    before, after = map(percent, average)
    return f"Success of {counted(len(slopes), 'task')}: {before} without memory and {after} with it, on average"


def _line(slope: Slope, text: str, colour: str, width: float, opacity: float) -> Chart:
    return {
        "type": "scatter", "mode": "lines+markers", "x": [0, 1], "y": list(slope), "opacity": opacity,
        "line": {"color": colour, "width": width}, "marker": {"size": 7}, "cliponaxis": False,
        "hovertemplate": f"{text}<extra></extra>",
    }  # fmt: skip


def _colour(slope: Slope) -> str:
    before, after = slope
    return GREY if before == after else PALETTE[0] if after > before else PALETTE[1]


def _text(slope: Slope) -> str:
    return " → ".join(map(percent, slope))
