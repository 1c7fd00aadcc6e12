"""Timeline of a journal: a bar chart of crashes and other entries over generations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atlas.memory.journal.links import CRASH
from atlas.memory.system import MemorySystem
from atlas.views.charts.palette import CRASH_COLOUR, GREY, Chart
from atlas.views.journal.list import both
from atlas.views.kinds.filters import where_of
from atlas.views.kinds.journal import JOURNAL
from atlas.views.lists.queries import Query
from atlas.views.shared.wording import counted

MAX_BARS = 120
"""Maximum number of bars. With more generations, they are binned."""

CRASHES, OTHERS = "crashes", "other entries"
"""The two lanes."""

HEIGHT = 84
"""Pixels of the chart with its axis."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The crashes, or the other entries."""

    name: str

    counts: Mapping[int, int]
    """Number of entries by generation."""

    @property
    def n(self) -> int:
        """Total number of entries."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Timeline:
    """How many crashes and other entries each generation has."""

    lanes: tuple[Lane, ...]
    """Crashes first. A lane without entries is left out."""

    @property
    def first(self) -> int:
        """The first generation that has an entry."""
        return min(min(lane.counts) for lane in self.lanes)

    @property
    def last(self) -> int:
        """The last generation that has an entry."""
        return max(max(lane.counts) for lane in self.lanes)

    @property
    def width(self) -> int:
        """Number of generations per bar."""
        return -(-(self.last - self.first + 1) // MAX_BARS)


def where_in_time(memory: MemorySystem, query: Query) -> dict[str, Any]:
    """Return the filter of a query, without its range of generations."""
    return where_of([each for each in JOURNAL.filters if each.key != "generation"], query.values, memory.journal)


def timeline(memory: MemorySystem, query: Query) -> Timeline:
    """Return the counts of entries that pass a query's filters, over all generations."""
    where = where_in_time(memory, query)
    every = memory.journal.values("generation", where)
    crashes = memory.journal.values("generation", both(where, {"entry_type": CRASH}))
    others = {generation: n - crashes.get(generation, 0) for generation, n in every.items()}
    lanes = (Lane(CRASHES, crashes), Lane(OTHERS, {generation: n for generation, n in others.items() if n}))
    return Timeline(tuple(lane for lane in lanes if lane.counts))


def timeline_chart(timeline: Timeline, since: int | None = None, until: int | None = None) -> Chart:
    """Return a bar for each generation: its crashes, and the other entries above them. A brush takes generations.

    Args:
        since: First selected generation; None for no bound.
        until: Last selected generation.
    """
    return {
        "data": [_bars(timeline, lane) for lane in timeline.lanes],
        "layout": {**_layout(timeline), "shapes": _shade(timeline, since, until)},
    }


def timeline_caption(timeline: Timeline) -> str:
    """Return the alternative text of the chart, in one line without text of entries."""
    n = sum(lane.n for lane in timeline.lanes)
    crashes = sum(lane.n for lane in timeline.lanes if lane.name == CRASHES)
    span = f"{counted(n, 'entry')} of rounds {timeline.first:,} to {timeline.last:,}"
    crash_text = f", {crashes:,} of them {'crash' if crashes == 1 else 'crashes'}" if crashes else ""
    return f"{span}{crash_text}. {_hint(timeline)}."


def brushed(selection: Mapping[str, Any], timeline: Timeline) -> tuple[int, int] | None:
    """Return the generations that a brush covers, as the chart reports it, or None if there is no brush.

    Args:
        selection: The chart's selection as Streamlit returns it.
    """
    boxes = selection.get("box") or []
    if not boxes or len(boxes[0].get("x") or []) < 2:
        return None
    low, high = sorted(float(end) for end in boxes[0]["x"][:2])
    first = max(timeline.first, _round_up(low))
    return first, max(first, min(timeline.last, int(high // 1)))


def _bars(timeline: Timeline, lane: Lane) -> Chart:
    counts: dict[int, int] = {}
    for generation, n in lane.counts.items():
        number = (generation - timeline.first) // timeline.width
        counts[number] = counts.get(number, 0) + n
    starts = {number: timeline.first + number * timeline.width for number in counts}
    return {
        "type": "bar",
        "name": f"{lane.name} ({lane.n:,})",
        "x": [starts[number] + (timeline.width - 1) / 2 for number in counts],
        "y": [*counts.values()],
        "width": timeline.width * 0.7,
        "marker": {"color": CRASH_COLOUR} if lane.name == CRASHES else {"color": GREY, "opacity": 0.5},
        "customdata": [[_span(starts[number], timeline), n] for number, n in counts.items()],
        "hovertemplate": f"{lane.name}<br>%{{customdata[0]}}: %{{customdata[1]:,}}<extra></extra>",
    }


def _shade(timeline: Timeline, since: int | None, until: int | None) -> list[Chart]:
    """Return a background band for the selected generations."""
    if since is None and until is None:
        return []
    start = timeline.first if since is None else since
    end = timeline.last if until is None else until
    band = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "x0": start - 0.5, "x1": end + 0.5}
    return [{**band, "layer": "below", "line": {"width": 0}, "fillcolor": GREY, "opacity": 0.25}]


def _span(start: int, timeline: Timeline) -> str:
    end = min(start + timeline.width - 1, timeline.last)
    return f"round {start:,}" if start == end else f"rounds {start:,} to {end:,}"


def _layout(timeline: Timeline) -> Chart:
    margin = timeline.width / 2
    return {
        "barmode": "stack",
        "height": HEIGHT,
        "margin": {"l": 0, "r": 0, "t": 4, "b": 44},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "select",
        "selectdirection": "h",
        "uirevision": "timeline",
        "xaxis": {
            "title": {"text": _hint(timeline), "standoff": 6, "font": {"size": 12}},
                        "range": [timeline.first - margin, timeline.last + margin],
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis": {"visible": False, "rangemode": "tozero", "fixedrange": True},
    }  # fmt: skip


def _hint(timeline: Timeline) -> str:
    bar = "" if timeline.width == 1 else f", {timeline.width:,} a bar"
    return f"Entries by round{bar}, crashes in orange. Drag across the bars to narrow the list"


def _round_up(number: float) -> int:
    return int(-(-number // 1))
