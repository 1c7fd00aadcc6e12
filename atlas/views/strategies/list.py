"""The lines of the list of strategies, with how sure it is that each works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS
from atlas.core.statistics import SuccessRate
from atlas.core.types import Strategy
from atlas.memory.base.success_rates import Trend, credible_interval, trend
from atlas.memory.kinds.sections import record_text
from atlas.memory.strategies.outcomes import StrategyRate
from atlas.memory.strategy_sources import tasks_without
from atlas.memory.system import MemorySystem
from atlas.views.charts.interval_bars import HEIGHT, TALL, interval_bar
from atlas.views.lists.queries import Row, marks_text, ranking
from atlas.views.shared.wording import counted, percent
from atlas.views.strategies.steps import steps_of
from atlas.views.strategies.titles import readable_title

BY_HAND = "by hand"
"""The origin that is shown of a strategy without a known abstractor."""

TEXT_CHARACTERS = 400

NOT_TRIED = "not tried yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyRow(Row):
    """One line of the list. Texts from the store are untrusted."""

    title: str
    situation: str
    suggestion: str
    succeeded: str
    """`23 of 64` tries, or `not tried yet`."""

    rate: float | None
    """Of the tries, in percent, or None if there are no tries."""

    n: int
    bar: str
    """A picture of the rate with its interval, or empty before any try."""

    trend: str
    learned_from: str
    """`3 of 4 attempts succeeded` that were made at its source tasks without it, or empty if it has no source."""

    retired: str
    """`by hand` or `by its outcomes`, or empty for one that agents are given."""

    written_by: str
    created_at: datetime | None
    """Time in UTC."""


def strategy_rows(
    memory: MemorySystem, strategies: Sequence[Strategy], hits: Mapping[str, Hit[str]]
) -> tuple[StrategyRow, ...]:
    """Return lines of strategies, given the hits that found them by id."""
    ids = [strategy.id for strategy in strategies]
    marks, rates = memory.strategies.marks(ids), memory.strategies.rates(ids)
    uses, without = memory.strategies.attempts_of(ids), tasks_without(memory.strategies, memory.experience, strategies)
    return tuple(
        StrategyRow(
            id=each.id,
            title=readable_title(each.title),
            situation=" ".join(each.situation[:TEXT_CHARACTERS].split()),
            suggestion=" ".join(steps_of(each.suggestion).summary.split())[:TEXT_CHARACTERS],
            succeeded=tries_text(rates[each.id]),
            rate=100 * rates[each.id].n_succeeded / rates[each.id].n if rates[each.id].n else None,
            n=rates[each.id].n,
            bar=rate_bar(rates[each.id], height=TALL),
            trend=trend_text(trend([use.success for use in uses[each.id]])),
            learned_from=learned_text(without[each.id], len(each.sources)),
            retired=rates[each.id].retired,
            written_by=written_by(each),
            created_at=each.created_at.astimezone(UTC) if each.created_at else None,
            marks=marks_text(marks.get(each.id, NO_MARKS)),
            **ranking(hits, each.id),
        )
        for each in strategies
        if each.id in rates
    )


def tried_line(rate: StrategyRate) -> str:
    """Return `succeeded in 3 of 4 tries (95 %: 28–95 %)`, or `not tried yet`. That it is retired, if it is."""
    return record_text(rate.n_succeeded, rate.n) + (f", retired {rate.retired}" if rate.retired else "")


def tries_text(rate: StrategyRate) -> str:
    """Return `23 of 64`, or `not tried yet`."""
    return f"{rate.n_succeeded:,} of {rate.n:,}" if rate.n else NOT_TRIED


def learned_text(without: SuccessRate, n_sources: int) -> str:
    """Return `3 of 4 attempts succeeded`, or `2 attempts` if none at the source tasks is stored any more."""
    if not without.n_known:
        return counted(n_sources, "attempt") if n_sources else ""
    return f"{without.n_succeeded:,} of {counted(without.n_known, 'attempt')} succeeded"


def without_text(rate: SuccessRate) -> str:
    """Return `50 % (15–85 %, n = 4)`, or an empty string without an attempt of known outcome."""
    if not rate.n_known:
        return ""
    interval = credible_interval(rate.n_succeeded, rate.n_known)
    share = percent(rate.n_succeeded / rate.n_known)
    return f"{share} ({interval.low * 100:.0f}–{percent(interval.high)}, n = {rate.n_known:,})"


def trend_text(found: Trend | None) -> str:
    """Return `↗ 40 to 80 %`, with a level arrow if the change may be chance, or an empty string after too few tries."""
    if found is None:
        return ""
    sign = {1: "↗", 0: "→", -1: "↘"}[found.direction]
    return f"{sign} {found.before * 100:.0f} to {percent(found.recent)}"


def written_by(strategy: Strategy) -> str:
    """Return `template`, the name of a language model, or `by hand`. It is untrusted text."""
    return str(strategy.metadata.get("derived_by") or BY_HAND)


def rate_bar(rate: StrategyRate, *, height: int = HEIGHT) -> str:
    """Return a picture of the rate of the tries, or an empty string before any."""
    return interval_bar(rate.interval, rate.n_succeeded / rate.n, height=height) if rate.n else ""
