"""Days of attempts as equal periods: days, weeks, months or years."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from atlas.core.statistics import Day, SuccessRate
from atlas.views.shared.wording import OUTCOMES

MAX_DAYS = 14
MAX_WEEKS = 400
MAX_MONTHS = 3_660
"""Numbers of days beyond which a period is a week, a month or a year."""

FEW = 0.01
"""Largest share of the attempts that may lie before the first period, or after today."""

LEAST_TO_TRIM = 11
"""Number of attempts below which none is left out. From here on, one may be, even if it is more than `FEW`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The periods of a chart, and the few attempts that a wrong clock puts outside of them."""

    span: str
    """`day`, `week`, `month` or `year`."""

    periods: tuple[Day, ...]
    """The periods from the first to the last, empty ones included. Each begins on its `on`."""

    days: tuple[Day, ...]
    """The days with attempts in the periods, in order."""

    n_earlier: int
    """Number of attempts before the first period."""

    n_later: int
    """Number of attempts after today that are in no period."""

    is_current: bool
    """True if the last period is that of today, the one before, or a later one."""


def timeline(days: Sequence[Day], today: date) -> Timeline:
    """Return days grouped by the span that suits their number.

    A few attempts stay outside: those so early that all periods would be longer, and those after today.

    Args:
        days: At least one, in order.
        today: The present day, in UTC.
    """
    n = total(days).n
    most = max(1, int(FEW * n)) if n >= LEAST_TO_TRIM else 0
    later = [day for day in days if day.on > today]
    is_trimmed = len(later) < len(days) and total(later).n <= most
    until_today = days[: len(days) - len(later)] if is_trimmed else days
    n_early = _n_early(until_today, most)
    drawn, span = until_today[n_early:], _span(until_today[n_early:])
    return Timeline(
        span=span,
        periods=_periods(drawn, span),
        days=tuple(drawn),
        n_earlier=total(days[:n_early]).n,
        n_later=total(later).n if is_trimmed else 0,
        is_current=_number(today, span) - _number(drawn[-1].on, span) <= 1,
    )


def total(days: Sequence[Day]) -> SuccessRate:
    """Return the rate of several days or periods together."""
    return SuccessRate.of({name: sum(getattr(day.rate, f"n_{name}") for day in days) for name in OUTCOMES})


def _n_early(days: Sequence[Day], most: int) -> int:
    """Return the number of first days with few attempts, long before the others, that make the periods longer."""
    n, n_early = 0, 0
    for number, day in enumerate(days[:-1], start=1):
        n += day.rate.n
        if n > most:
            break
        gap, rest = days[number].on - day.on, days[-1].on - days[number].on
        if gap > rest and _span(days[number:]) != _span(days[n_early:]):
            n_early = number
    return n_early


def _span(days: Sequence[Day]) -> str:
    n_days = (days[-1].on - days[0].on).days + 1
    most = {"day": MAX_DAYS, "week": MAX_WEEKS, "month": MAX_MONTHS}
    return next((span for span, n in most.items() if n_days <= n), "year")


def _periods(days: Sequence[Day], span: str) -> tuple[Day, ...]:
    groups: dict[int, list[Day]] = {}
    for day in days:
        groups.setdefault(_number(day.on, span), []).append(day)
    return tuple(
        Day(on=_start(number, span), rate=total(groups.get(number, ())))
        for number in range(min(groups), max(groups) + 1)
    )


def _number(on: date, span: str) -> int:
    """Return the ordinal number of a day's calendar span."""
    months = 12 * on.year + on.month - 1
    return {"day": on.toordinal(), "week": (on.toordinal() - 1) // 7, "month": months, "year": on.year}[span]


def _start(number: int, span: str) -> date:
    """Return the first day of a span: of a week its Monday, as 0001-01-01 was one."""
    if span in ("day", "week"):
        return date.fromordinal(number if span == "day" else 7 * number + 1)
    return date(number // 12, number % 12 + 1, 1) if span == "month" else date(number, 1, 1)
