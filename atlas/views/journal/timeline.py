"""Timeline of a journal: a bar chart of crashes, with and without a fix, and other entries.

The bars are days or weeks, or rounds if all entries are of a few days.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from atlas.memory.journal.links import CRASH
from atlas.memory.system import MemorySystem
from atlas.views.charts.palette import FAILURE_COLOUR, GREY, GREY_BAR_COLOUR, MENDED_COLOUR, Chart
from atlas.views.journal.list import conjunction
from atlas.views.kinds.filters import where_of
from atlas.views.kinds.journal import FIXED, HAS_FIX, JOURNAL, NOT_FIXED
from atlas.views.lists.queries import Query
from atlas.views.shared.wording import counted, day_text

MAX_BARS = 120
"""Maximum number of bars. With more rounds or weeks, they are binned."""

MIN_DAYS = 4
"""Minimum number of days with entries for bars by day."""

DAYS_APART, WEEK = 45, 7
"""Maximum number of days that are drawn as a bar each, and the number of days of a wider bar or a part of it."""

OTHERS = "Other entries"
COLOURS = {NOT_FIXED: FAILURE_COLOUR, FIXED: MENDED_COLOUR, OTHERS: GREY_BAR_COLOUR}
"""The lanes, from the bottom, with their colours."""

BRUSH = "Drag across the bars to narrow the list"

MAX_TICKS = 7

DAY_MILLISECONDS = 86_400_000
"""A day in the unit of the widths of bars on an axis of time."""

HEIGHT = 128
"""Pixels of the chart with its axis and its legend."""

LEFT = 26
"""Pixels for the numbers of the axis."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The entries that have one colour in the chart."""

    name: str
    """One of `COLOURS`."""

    counts: Mapping[int, int]
    """Number of entries by position: the ordinal of a day, or a generation."""

    @property
    def n_entries(self) -> int:
        """Total number of entries."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Timeline:
    """How many entries of each lane each day or generation has."""

    lanes: tuple[Lane, ...]
    """In the order of `COLOURS`. A lane without entries is left out."""

    is_by_day: bool
    today: int = 0
    """The ordinal of the present day, for bars by day."""

    @property
    def first_position(self) -> int:
        """The first position that has an entry."""
        return min(min(lane.counts) for lane in self.lanes)

    @property
    def last_position(self) -> int:
        """The last position that has an entry."""
        return max(max(lane.counts) for lane in self.lanes)

    @property
    def last_on_axis(self) -> int:
        """The last position on the axis: today, unless that leaves more than half of the axis empty."""
        is_near = self.is_by_day and self.last_position < self.today <= 2 * self.last_position - self.first_position
        return self.today if is_near else self.last_position

    @property
    def width(self) -> int:
        """Number of positions per bar: whole weeks if there are many days."""
        n_positions = self.last_on_axis - self.first_position + 1
        if not self.is_by_day:
            return -(-n_positions // MAX_BARS)
        return 1 if n_positions <= DAYS_APART else WEEK * -(-n_positions // (WEEK * MAX_BARS))

    @property
    def start(self) -> int:
        """Position where the first bar begins. A week begins on Monday, the ordinal 1."""
        return (
            self.first_position
            if self.width == 1 or not self.is_by_day
            else self.first_position - (self.first_position - 1) % WEEK
        )

    @property
    def end(self) -> int:
        """Position after the last bar."""
        return self.start + self.width * -(-(self.last_on_axis + 1 - self.start) // self.width)


def where_in_time(memory: MemorySystem, query: Query) -> dict[str, Any]:
    """Return the filter of a query, without its ranges of days and generations."""
    filters = [item for item in JOURNAL.filters if item.key not in ("generation", "created_at")]
    return where_of(filters, query.values, memory.journal)


def timeline(memory: MemorySystem, query: Query, today: int) -> Timeline:
    """Return the counts of entries that pass a query's filters, over all days or generations.

    Args:
        today: Ordinal number of the day (UTC).
    """
    any_type = where_in_time(memory, query)
    crash = conjunction(any_type, {"entry_type": CRASH})
    fixed_crash = conjunction(crash, HAS_FIX)
    is_by_day = len(_counts_by_day(memory, {})) >= MIN_DAYS
    count_positions = partial(_counts_by_day, memory) if is_by_day else partial(memory.journal.values, "generation")
    entries, crashes, fixed = (Counter(count_positions(where)) for where in (any_type, crash, fixed_crash))
    lanes = (Lane(NOT_FIXED, crashes - fixed), Lane(FIXED, fixed), Lane(OTHERS, entries - crashes))
    return Timeline(tuple(lane for lane in lanes if lane.counts), is_by_day, today)


def _counts_by_day(memory: MemorySystem, where: Mapping[str, Any]) -> dict[int, int]:
    """Return the number of entries by the ordinal of their day. Damaged days are left out, as the list reports them."""
    counts = dict[int, int]()
    for day, entry_types in memory.journal.counts_by_day(where).items():
        with suppress(ValueError):
            counts[date.fromisoformat(day).toordinal()] = sum(entry_types.values())
    return counts


def timeline_chart(timeline: Timeline, since: int | None = None, until: int | None = None) -> Chart:
    """Return a bar for each day or generation, with its lanes upon each other. A brush narrows the list.

    Args:
        since: First selected position; None for no bound.
        until: Last selected position.
    """
    return {
        "data": [_bars(timeline, lane) for lane in timeline.lanes],
        "layout": {**_layout(timeline), "shapes": _selection_band(timeline, since, until)},
    }


def timeline_caption(timeline: Timeline) -> str:
    """Return the alternative text of the chart, in one line without text of entries."""
    n_entries = sum(lane.n_entries for lane in timeline.lanes)
    total = f"{counted(n_entries, 'entry')} of {_range_text(timeline, timeline.first_position, timeline.last_position)}"
    lanes = " ".join(f"{lane.name}: {lane.n_entries:,}." for lane in timeline.lanes)
    return f"{total}. {lanes} {_heading(timeline)}. {BRUSH}."


def brush_range(selection: Mapping[str, Any], timeline: Timeline) -> tuple[int, int] | None:
    """Return the positions that a brush covers, as the chart reports it, or None if there is no brush.

    Args:
        selection: The chart's selection as Streamlit returns it.
    """
    boxes = selection.get("box") or []
    if not boxes or len(boxes[0].get("x") or []) < 2:
        return None
    left, right = sorted(_position(timeline, end) for end in boxes[0]["x"][:2])
    start = max(timeline.first_position, _round_up(left))
    return start, max(start, min(timeline.last_position, int(right // 1)))


def _bars(timeline: Timeline, lane: Lane) -> Chart:
    counts: dict[int, int] = {}
    for position, count in lane.counts.items():
        bar = (position - timeline.start) // timeline.width
        counts[bar] = counts.get(bar, 0) + count
    starts = {bar: timeline.start + bar * timeline.width for bar in counts}
    return {
        "type": "bar",
        "name": f"{lane.name} ({lane.n_entries:,})",
        "x": [_coordinate(timeline, starts[bar] + (timeline.width - 1) / 2) for bar in counts],
        "y": [*counts.values()],
        "width": timeline.width * 0.9 * (DAY_MILLISECONDS if timeline.is_by_day else 1),
        "marker": {"color": COLOURS[lane.name]},
        "customdata": [
            [_range_text(timeline, start, min(start + timeline.width - 1, timeline.last_position)), counts[bar]]
            for bar, start in starts.items()
        ],
        "hovertemplate": f"{lane.name}<br>%{{customdata[0]}}: %{{customdata[1]:,}}<extra></extra>",
    }


def _selection_band(timeline: Timeline, since: int | None, until: int | None) -> list[Chart]:
    """Return a background band for the selected days or generations."""
    if since is None and until is None:
        return []
    start = timeline.first_position if since is None else since
    end = timeline.last_position if until is None else until
    ends = {"x0": _coordinate(timeline, start - 0.5), "x1": _coordinate(timeline, end + 0.5)}
    band = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, **ends}
    return [{**band, "layer": "below", "line": {"width": 0}, "fillcolor": GREY, "opacity": 0.25}]


def _range_text(timeline: Timeline, start: int, end: int) -> str:
    if timeline.is_by_day:
        return " to ".join(dict.fromkeys(day_text(date.fromordinal(position)) for position in (start, end)))
    return f"round {start:,}" if start == end else f"rounds {start:,} to {end:,}"


def _coordinate(timeline: Timeline, position: float) -> float | str:
    """Return a position as a coordinate of the chart: a time for a day."""
    if not timeline.is_by_day:
        return position
    return (datetime.min + timedelta(days=max(0, position - 1))).isoformat()


def _position(timeline: Timeline, x: Any) -> float:
    """Return the position of a coordinate that the chart reports."""
    if not timeline.is_by_day:
        return float(x)
    return (datetime.fromisoformat(x) - datetime.min) / timedelta(days=1) + 1


def _layout(timeline: Timeline) -> Chart:
    by_day = {"type": "date", "tickmode": "array", **_ticks(timeline)} if timeline.is_by_day else {}
    return {
        "barmode": "stack",
        "height": HEIGHT,
        "margin": {"l": LEFT, "r": 0, "t": 24, "b": 28},
        "annotations": _legend(timeline),
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "select",
        "selectdirection": "h",
        "uirevision": "timeline",
        "xaxis": {
            "range": [_coordinate(timeline, timeline.start - 0.5), _coordinate(timeline, timeline.end - 0.5)],
            "showgrid": False,
            "zeroline": False,
            **by_day,
        },
        "yaxis": {"tickvals": [0, _max_count(timeline)], "rangemode": "tozero", "fixedrange": True, "showgrid": False},
    }  # fmt: skip


def _ticks(timeline: Timeline) -> Chart:
    """Return the first days of some bars, each in the middle of its bar."""
    n_bars = (timeline.end - timeline.start) // timeline.width
    starts = range(timeline.start, timeline.end, timeline.width * -(-n_bars // MAX_TICKS))
    return {
        "tickvals": [_coordinate(timeline, start + (timeline.width - 1) / 2) for start in starts],
        "ticktext": [day_text(date.fromordinal(start)) for start in starts],
    }


def _legend(timeline: Timeline) -> list[Chart]:
    """Return the title of the chart with the colours of its bars, if they differ, and what a brush does."""
    place = {"xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False, "font": {"size": 12}}
    colours = [f'<span style="color:{COLOURS[lane.name]}">■</span> {lane.name.lower()}' for lane in timeline.lanes]
    title = "   ".join([_heading(timeline), *(colours if len(colours) > 1 else ())])
    return [
        {**place, "text": title, "x": 0, "xanchor": "left", "xshift": -LEFT},
        {**place, "text": BRUSH, "x": 1, "xanchor": "right"},
    ]


def _max_count(timeline: Timeline) -> int:
    """Return the number of entries of the highest bar."""
    bars: Counter[int] = Counter()
    for lane in timeline.lanes:
        for position, count in lane.counts.items():
            bars[(position - timeline.start) // timeline.width] += count
    return max(bars.values())


def _heading(timeline: Timeline) -> str:
    if timeline.is_by_day:
        n_weeks = timeline.width // WEEK
        unit = "day" if not n_weeks else "week" if n_weeks == 1 else f"{n_weeks} weeks"
    else:
        unit = "round of the agent's work" + ("" if timeline.width == 1 else f", {timeline.width:,} a bar")
    return f"Entries by {unit}"


def _round_up(position: float) -> int:
    return int(-(-position // 1))
