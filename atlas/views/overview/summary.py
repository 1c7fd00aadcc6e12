"""The overview: how much is remembered, and how well it went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from atlas.core.imports.lazy import LazyModule
from atlas.core.statistics import SuccessRate as SuccessRate
from atlas.core.statistics import rates_by_day
from atlas.memory.system import MemorySystem
from atlas.views.charts.trend import Trend
from atlas.views.overview.recent import Recent, recent
from atlas.views.overview.trend import trend_of
from atlas.views.shared.rates import interval_text, rate_text
from atlas.views.shared.wording import OUTCOMES, UNKNOWN_VALUE, counted
from atlas.views.strategies.overview import strategy_counts

if TYPE_CHECKING:
    from atlas.importers import sample
else:
    sample = LazyModule("atlas.importers.sample")  # imports every format, and most commands only word a size here

MAX_GROUPS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """The attempts that share a source."""

    name: str
    """Name from the source: untrusted text."""

    n: int
    n_known: int
    """Attempts whose outcome is known."""

    percent_succeeded: float | None
    """Percentage of successes among the known outcomes, in [0, 100], or None without any."""

    interval: str


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups, largest first."""

    rows: tuple[GroupRow, ...]
    n_more: int
    """Groups beyond those shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """All that the overview shows."""

    rate: SuccessRate
    trend: Trend | None
    """The success rate over time, or None if there is too little of it."""

    recent: Recent | None
    """The newest records, or None without attempts."""

    sources: Groups
    n_sample: int
    """Experiences that are sample data."""

    n_own: int
    """Records of all memories that are not sample data."""

    n_concepts: int
    n_entries: int
    """Number of entries of the journal."""

    strategies: str
    """The number of records, as trusted text, or empty if there are none."""


def overview(memory: MemorySystem, today: date) -> Overview:
    """Return the current overview of a memory.

    Args:
        today: The present day, in UTC.
    """
    counts = memory.experience.values("outcome")
    days = rates_by_day(memory.experience.counts_by_day())
    return Overview(
        rate=SuccessRate.of(counts),
        trend=trend_of(memory, days, today),
        recent=recent(memory, days, today),
        sources=_groups(memory, "source", counts),
        n_sample=sample.n_sample_experiences(memory),
        n_own=n_own_records(memory),
        n_concepts=memory.concepts.count(),
        n_entries=memory.journal.count(),
        strategies=strategy_counts(memory),
    )


def n_own_records(memory: MemorySystem) -> int:
    """Return how many records of all memories are not sample data."""
    memories = (memory.experience, memory.concepts, memory.strategies, memory.journal, memory.conversations)
    return sum(records.count() for records in memories) - sample.n_sample_records(memory)


def experiences_line(rate: SuccessRate) -> str:
    """Return the number of experiences and their success rate in words.

    `377 experiences: 65% of 361 succeeded (likely 60–70%), 16 unknown`.
    """
    experiences = counted(rate.n, "experience")
    if not rate.n_known:
        return f"{experiences}, outcomes unknown" if rate.n else experiences
    if not rate.n_unknown:
        return f"{experiences}: {rate_text(rate)} succeeded (likely {interval_text(rate)})"
    succeeded = f"{rate_text(rate)} of {rate.n_known:,} succeeded (likely {interval_text(rate)})"
    return f"{experiences}: {succeeded}, {rate.n_unknown:,} unknown"


def groups_caption(groups: Groups, noun: str) -> str:
    """Return the caption of a table of groups: how many it leaves out, or an empty string if it is complete."""
    return f"and {counted(groups.n_more, f'more {noun}')}" if groups.n_more else ""


def _groups(memory: MemorySystem, key: str, totals: Mapping[str, int]) -> Groups:
    tallies: dict[str, dict[str, int]] = {}
    for outcome in OUTCOMES:
        named = memory.experience.values(key, {"outcome": outcome}) if totals.get(outcome) else {}
        for value, n in [*named.items(), (UNKNOWN_VALUE, totals.get(outcome, 0) - sum(named.values()))]:
            tally = tallies.setdefault(str(value), {})
            tally[outcome] = tally.get(outcome, 0) + max(n, 0)
    groups = [_group(name, SuccessRate.of(tally)) for name, tally in tallies.items() if any(tally.values())]
    groups.sort(key=lambda group: (-group.n, group.name))
    return Groups(tuple(groups[:MAX_GROUPS]), max(0, len(groups) - MAX_GROUPS))


def _group(name: str, rate: SuccessRate) -> GroupRow:
    return GroupRow(
        name=name,
        n=rate.n,
        n_known=rate.n_known,
        percent_succeeded=None if rate.share is None else 100 * rate.share,
        interval=interval_text(rate),
    )


def size_text(n_bytes: int) -> str:
    """Return a size as text, such as `4.2 MB`."""
    return f"{n_bytes / 2**20:,.1f} MB" if n_bytes < 2**30 else f"{n_bytes / 2**30:,.1f} GB"
