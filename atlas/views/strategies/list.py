"""The lines of the list of strategies, with how sure it is that each works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS
from atlas.core.statistics import SuccessRate
from atlas.core.types import Strategy
from atlas.memory.base.success_rates import Trend, credible_interval, trend
from atlas.memory.kinds.sections import record_text
from atlas.memory.strategies.outcomes import StrategyRate
from atlas.memory.strategy_sources import tasks_without
from atlas.memory.system import MemorySystem
from atlas.views.charts.interval_bars import interval_bar
from atlas.views.lists.queries import Row, marks_text, ranking
from atlas.views.shared.wording import counted, percent, shortened
from atlas.views.strategies.steps import Steps, steps_of
from atlas.views.strategies.titles import readable_title

BY_HAND = "by hand"
"""The origin that is shown of a strategy without a known abstractor."""

MAX_LISTED_STEPS = 3
STEP_CHARACTERS, STEP_LINES = 150, 2
"""The part of a step that is listed."""

NOT_TRIED = "not tried yet"

WORKS, FAILS, HALF, UNSURE = "mostly works", "mostly fails", "half and half", "too few tries"
NARROW = 0.3
"""Width of an interval around one half from which a strategy is known to work about half the time."""

BROWSER_FIELDS = (
    "id", "title", "steps", "n_more_steps", "succeeded", "rate", "low", "high", "verdict", "trend", "learned_from",
    "relevance", "why",
)  # fmt: skip
"""Fields of a row that the browser draws as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyRow(Row):
    """One line of the list. Texts from the store are untrusted."""

    title: str
    domain: str
    steps: tuple[str, ...]
    """The first steps of its suggestion, each cut at the end of a word."""

    n_more_steps: int
    succeeded: str
    """`23 of 64` tries, or `not tried yet`."""

    n: int
    rate: float | None
    """Share of the tries that succeeded, in [0, 1], or None before any try."""

    low: float
    """Lower end of the 95 % credible interval of the success rate, in [0, 1]."""

    high: float
    bar: str
    """A picture of the rate with its interval, or empty before any try."""

    verdict: str
    """One of `WORKS`, `FAILS`, `HALF` and `UNSURE`, or empty before any try."""

    trend: str
    """`↗ 40 to 80 %`, or empty if it is level."""

    learned_from: str
    """`4 attempts, 3 succeeded` that were made at its source tasks without it, or empty if it has no source."""

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
            domain=str(each.metadata.get("domain", "")),
            **_listed_steps(steps_of(each.suggestion)),
            **_record(rates[each.id]),
            trend=_change_text([use.success for use in uses[each.id]]),
            learned_from=learned_text(without[each.id], len(each.sources)),
            retired=rates[each.id].retired,
            written_by=written_by(each),
            created_at=each.created_at.astimezone(UTC) if each.created_at else None,
            marks=marks_text(replace(marks.get(each.id, NO_MARKS), buried=False)),  # it is shown as retired
            **ranking(hits, each.id),
        )
        for each in strategies
        if each.id in rates
    )


def _listed_steps(parsed: Steps) -> dict[str, Any]:
    steps = [*filter(None, [parsed.introduction]), *parsed.steps]
    return {
        "steps": tuple(map(_beginning, steps[:MAX_LISTED_STEPS])),
        "n_more_steps": max(0, len(steps) - MAX_LISTED_STEPS),
    }


def _beginning(step: str) -> str:
    lines = step.splitlines()
    cut = "\n".join(lines[:STEP_LINES]) + (" …" if len(lines) > STEP_LINES else "")
    return shortened(cut, STEP_CHARACTERS)


def _record(rate: StrategyRate) -> dict[str, Any]:
    return {
        "succeeded": tries_text(rate),
        "n": rate.n,
        "rate": rate.n_succeeded / rate.n if rate.n else None,
        "low": rate.interval.low,
        "high": rate.interval.high,
        "bar": rate_bar(rate),
        "verdict": verdict_of(rate),
    }


def verdict_of(rate: StrategyRate) -> str:
    """Return whether a strategy works, as far as its tries show, or an empty string before any try."""
    low, high = rate.interval.low, rate.interval.high
    if not rate.n:
        return ""
    if low >= 0.5 or high <= 0.5:
        return WORKS if low >= 0.5 else FAILS
    return HALF if high - low <= NARROW else UNSURE


def rows_as_json(rows: Sequence[StrategyRow]) -> list[dict[str, Any]]:
    """Return rows for the browser."""
    return [
        {
            **{name: getattr(row, name) for name in BROWSER_FIELDS},
            "marks": ", ".join(filter(None, [row.marks, f"retired {row.retired}" if row.retired else ""])),
            "origin": " · ".join(filter(None, [row.domain, f"written by {row.written_by}", _day(row.created_at)])),
            "range": f"{100 * row.low:.0f}–{percent(row.high)}",
        }
        for row in rows
    ]


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}" if at else ""


def tried_line(rate: StrategyRate) -> str:
    """Return `succeeded in 3 of 4 tries (likely 28–95 %)`, or `not tried yet`. That it is retired, if it is."""
    return record_text(rate.n_succeeded, rate.n) + (f", retired {rate.retired}" if rate.retired else "")


def tries_text(rate: StrategyRate) -> str:
    """Return `23 of 64`, or `not tried yet`."""
    return f"{rate.n_succeeded:,} of {rate.n:,}" if rate.n else NOT_TRIED


def _change_text(outcomes: Sequence[bool]) -> str:
    change = trend(outcomes)
    return trend_text(change) if change is not None and change.direction else ""


def learned_text(without: SuccessRate, n_sources: int) -> str:
    """Return `4 attempts, 3 succeeded`, or `2 attempts` if none at the source tasks is stored any more."""
    if not without.n_known:
        return counted(n_sources, "attempt") if n_sources else ""
    return f"{counted(without.n_known, 'attempt')}, {without.n_succeeded:,} succeeded"


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


def rate_bar(rate: StrategyRate) -> str:
    """Return a picture of the rate of the tries, or an empty string before any."""
    return interval_bar(rate.interval, rate.n_succeeded / rate.n) if rate.n else ""
