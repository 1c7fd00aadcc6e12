"""The trend of a memory's success rate: its periods, and how attempts at tasks went in the last ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from atlas.core.statistics import Day
from atlas.memory.system import MemorySystem
from atlas.views.charts.periods import Timeline, timeline
from atlas.views.charts.trend import Comparison, Side, Trend, first_compared, is_drawn, side_of
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.filters import where_of


def trend_of(memory: MemorySystem, days: Sequence[Day], today: date) -> Trend | None:
    """Return the trend, or None if too little of it can be drawn.

    Args:
        memory: The memories.
        days: The days with attempts, in order.
        today: The present day, in UTC.
    """
    if not days or not is_drawn(line := timeline(days, today)):
        return None
    return Trend(line=line, comparison=_comparison(memory, line))


def _comparison(memory: MemorySystem, line: Timeline) -> Comparison | None:
    """Return the last periods compared with all earlier ones, or None without known outcomes on both sides."""
    first_day = first_compared(line)
    if first_day is None:
        return None
    recent = _side(memory, first_day, line.days[-1].on)
    earlier = _side(memory, line.days[0].on, first_day - timedelta(days=1))
    return Comparison(since=first_day, latest=recent, earlier=earlier) if recent and earlier else None


def _side(memory: MemorySystem, first_day: date, last_day: date) -> Side | None:
    """Return the attempts from one day to another, or None without a known outcome.

    A task without an id is identified by its title.
    """
    where = where_of(EXPERIENCE.filters, {"since": first_day, "until": last_day})
    where["outcome"] = {"$in": ["succeeded", "failed"]}
    outcomes, tasks = (memory.experience.column(key, where) for key in ("outcome", "task_id"))
    titles = memory.experience.column("title", where) if len(tasks) < len(outcomes) else {}
    task_names = [
        str(tasks.get(experience_id) or titles.get(experience_id, experience_id)) for experience_id in outcomes
    ]
    return side_of([outcome == "succeeded" for outcome in outcomes.values()], task_names) if outcomes else None
