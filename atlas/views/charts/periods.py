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
    n_attempts = total(days).n
    max_left_out = max(1, int(FEW * n_attempts)) if n_attempts >= LEAST_TO_TRIM else 0
    later = [day for day in days if day.on > today]
    is_trimmed = len(later) < len(days) and total(later).n <= max_left_out
    until_today = days[: len(days) - len(later)] if is_trimmed else days
    n_early = _n_early(until_today, max_left_out)
    shown_days, span = until_today[n_early:], _span(until_today[n_early:])
    return Timeline(
        span=span,
        periods=_periods(shown_days, span),
        days=tuple(shown_days),
        n_earlier=total(days[:n_early]).n,
        n_later=total(later).n if is_trimmed else 0,
        is_current=_number(today, span) - _number(shown_days[-1].on, span) <= 1,
    )


def total(days: Sequence[Day]) -> SuccessRate:
    """Return the rate of several days or periods together."""
    return SuccessRate.of({name: sum(getattr(day.rate, f"n_{name}") for day in days) for name in OUTCOMES})


def _n_early(days: Sequence[Day], max_left_out: int) -> int:
    """Return how many days at the beginning to leave out, because without them the periods are shorter.

    The gap after them is longer than all that follows it. They have at most `max_left_out` attempts.
    """
    n_attempts, n_early = 0, 0
    for number, day in enumerate(days[:-1], start=1):
        n_attempts += day.rate.n
        if n_attempts > max_left_out:
            break
        gap, days_after = days[number].on - day.on, days[-1].on - days[number].on
        if gap > days_after and _span(days[number:]) != _span(days[n_early:]):
            n_early = number
    return n_early


def _span(days: Sequence[Day]) -> str:
    n_days = (days[-1].on - days[0].on).days + 1
    max_days = {"day": MAX_DAYS, "week": MAX_WEEKS, "month": MAX_MONTHS}
    return next((span for span, limit in max_days.items() if n_days <= limit), "year")


def _periods(days: Sequence[Day], span: str) -> tuple[Day, ...]:
    groups: dict[int, list[Day]] = {}
    for day in days:
        groups.setdefault(_number(day.on, span), []).append(day)
    return tuple(
        Day(on=_start(number, span), rate=total(groups.get(number, ())))
        for number in range(min(groups), max(groups) + 1)
    )


def _number(day: date, span: str) -> int:
    """Return the number of the calendar day, week, month or year that a day lies in."""
    months = 12 * day.year + day.month - 1
    return {"day": day.toordinal(), "week": (day.toordinal() - 1) // 7, "month": months, "year": day.year}[span]


def _start(number: int, span: str) -> date:
    """Return the first day of the span with this number. A week begins on Monday, as 0001-01-01 was one."""
    if span in ("day", "week"):
        return date.fromordinal(number if span == "day" else 7 * number + 1)
    return date(number // 12, number % 12 + 1, 1) if span == "month" else date(number, 1, 1)
