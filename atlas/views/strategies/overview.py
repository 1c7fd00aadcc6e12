"""How well the strategies of a memory work, for the overview: how many there are, and the best and worst of them."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.statistics import Interval
from atlas.memory.base.success_rates import credible_interval
from atlas.memory.system import MemorySystem
from atlas.views.charts.interval_bars import interval_bar
from atlas.views.shared.wording import counted
from atlas.views.strategies.list import share_text

ENOUGH = 5
"""Tries from which a strategy is counted as tried enough."""

SHOWN = 3
"""Of the best, and of the worst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedRow:
    """A strategy that was tried enough."""

    id: str
    title: str
    """Untrusted text."""

    succeeded: str
    """`36 % (25–48 %, n = 64)`."""

    bar: str
    retired: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyOverview:
    """How well the strategies work."""

    n: int
    n_tried: int
    n_enough: int
    """Tried at least `ENOUGH` times."""

    n_retired: int
    best: tuple[RatedRow, ...]
    """Of those that were tried enough, by the lower end of the interval."""

    worst: tuple[RatedRow, ...]
    """Of the others, by the higher end, the worst first."""

    sentence: str
    """In words of our own, or empty if there is no strategy."""


def strategy_overview(memory: MemorySystem) -> StrategyOverview:
    """Return the figures of a memory as it is now."""
    bank = memory.strategies
    n_uses, n_good = bank.column("usage.n_uses"), bank.column("usage.n_successes")
    tried = {strategy_id: (n_good.get(strategy_id, 0), n) for strategy_id, n in n_uses.items() if n}
    intervals = {strategy_id: credible_interval(*tries) for strategy_id, tries in tried.items() if tries[1] >= ENOUGH}
    best = sorted(intervals, key=lambda strategy_id: -intervals[strategy_id].low)[:SHOWN]
    worst = [
        strategy_id
        for strategy_id in sorted(intervals, key=lambda strategy_id: intervals[strategy_id].high)
        if strategy_id not in best
    ][:SHOWN]
    titles, retired = bank.titles([*best, *worst]), bank.retired()
    rows = {
        strategy_id: _row(
            strategy_id, titles[strategy_id], tried[strategy_id], intervals[strategy_id], retired.get(strategy_id, "")
        )
        for strategy_id in titles
    }
    n = bank.count()
    return StrategyOverview(
        n=n,
        n_tried=len(tried),
        n_enough=len(intervals),
        n_retired=len(retired),
        best=tuple(rows[strategy_id] for strategy_id in best if strategy_id in rows),
        worst=tuple(rows[strategy_id] for strategy_id in worst if strategy_id in rows),
        sentence=_sentence(n, len(tried), len(intervals), len(retired)),
    )


def _row(strategy_id: str, title: str, tries: tuple[int, int], interval: Interval, retired: str) -> RatedRow:
    bar = interval_bar(interval, tries[0] / tries[1])
    return RatedRow(id=strategy_id, title=title, succeeded=share_text(*tries), bar=bar, retired=retired)


def _sentence(n: int, n_tried: int, n_enough: int, n_retired: int) -> str:
    if not n:
        return ""
    if not n_tried:
        return f"{counted(n, 'strategy')}, none tried yet"
    retired = f", {n_retired:,} retired" if n_retired else ""
    return f"{counted(n, 'strategy')}: {n_tried:,} tried, {n_enough:,} of them {ENOUGH} times or more{retired}"
