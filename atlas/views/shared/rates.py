"""Success rates in the words of the pages."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.statistics import Interval, SuccessRate, credible_interval
from atlas.views.kinds.verdicts import CLEARLY_WORSE, FAILING, FEW_KNOWN, MIXED, NOT_CLEAR, WORKS
from atlas.views.shared.wording import MINUS, NO_BREAK, counted, percent

NOT_USED = "not used yet"

LIKELY_MEANS = "Likely: the true value lies in this range with a probability of 95%."
"""The meaning of a range, where a page first shows one, and of a column of ranges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """How often something worked. All texts are trusted."""

    tries: str
    """`12 of 12 uses`, or `not used yet`."""

    rate: float | None = None
    """Share of the tries that succeeded, in [0, 1], or None before any try."""

    low: float = 0.0
    """Lower end of the 95% credible interval of the rate, in [0, 1]."""

    high: float = 1.0
    range: str = ""
    """`likely 55–80%`, or empty before any try."""

    verdict: str = ""
    """`clearly worse`, or one of `verdict_of`, or empty before any try."""

    others: str = ""
    """`93%`, the rate of the other active ones of its kind, if it is clearly worse, else empty."""

    average: float | None = None
    """Share of all attempts of the store that succeeded, in [0, 1], or None if it is not compared with it."""

    tone: str = ""
    """`good`, `bad`, or empty for neither."""

    trend: str = ""
    """`↗ 40 to 80%`, or empty if it is level."""


def record_of(
    n_succeeded: int,
    n: int,
    *,
    trend: str = "",
    others: SuccessRate | None = None,
    average: float | None = None,
) -> Record:
    """Return the record of something that was used, by how many of its uses succeeded.

    Args:
        n_succeeded: Number of uses that succeeded.
        n: Number of uses.
        trend: How the rate changed.
        others: The rate of the other active ones of its kind, if it is clearly worse.
        average: Share of all attempts of the store that succeeded, in [0, 1].
    """
    if not n:
        return Record(tries=NOT_USED)
    interval = credible_interval(n_succeeded, n)
    return Record(
        tries=f"{n_succeeded:,} of {counted(n, 'use')}",
        rate=n_succeeded / n,
        low=interval.low,
        high=interval.high,
        range=likely(interval),
        verdict=CLEARLY_WORSE if others else verdict_of(interval, n),
        others=rate_text(others) if others else "",
        average=average,
        tone="good" if interval.low >= 0.5 else "bad" if others or interval.high <= 0.5 else "",
        trend=trend,
    )


def verdict_of(interval: Interval, n: int) -> str:
    """Return whether a rate of n uses is above one half or below it, or why that is not known."""
    if interval.low >= 0.5:
        return WORKS
    if interval.high <= 0.5:
        return FAILING
    return NOT_CLEAR if n < FEW_KNOWN else MIXED


def likely(interval: Interval) -> str:
    """Return `likely 55–80%`: where the true rate lies with a probability of 95%."""
    return f"likely {_percentages(interval)}"


def _percentages(interval: Interval) -> str:
    return f"{interval.low * 100:.0f}–{interval.high * 100:.0f}%"


def rate_text(rate: SuccessRate) -> str:
    """Return `62%`, or a dash if no outcome is known."""
    return "–" if rate.share is None else percent(rate.share)


def share_for_order(rate: SuccessRate) -> float:
    """Return the share of successes, in [0, 1], or 2 if no outcome is known, which is sorted last."""
    return 2.0 if rate.share is None else rate.share


def interval_text(rate: SuccessRate) -> str:
    """Return `58–66%`, or an empty string if no outcome is known."""
    return _percentages(rate.interval) if rate.interval is not None else ""


def rate_line(rate: SuccessRate) -> str:
    """Return `62% of 9 (likely 58–66%)`, or a dash if no outcome is known."""
    return f"{rate_text(rate)} of {rate.n_known:,} (likely {interval_text(rate)})" if rate.n_known else "–"


def rate_of_rest(rate: SuccessRate) -> str:
    """Return the rate of the attempts that are left: `50% of 4 (likely 15–85%), too few to judge`."""
    return f"{rate_line(rate)}{', too few to judge' if 0 < rate.n_known < FEW_KNOWN else ''}"


def rate_sentence(rate: SuccessRate) -> str:
    """Return `62% of 9 with a known outcome succeeded (likely 58–66%)`, or `outcomes unknown`."""
    if not rate.n_known:
        return "outcomes unknown"
    return f"{rate_text(rate)} of {rate.n_known:,} with a known outcome succeeded (likely {interval_text(rate)})"


def weak_groups_sentence(n_weak: int, groups: str, average: SuccessRate) -> str:
    """Return `2 of 9 domains are clearly below the average of 65%.`.

    Args:
        n_weak: Number of the groups that are.
        groups: The groups with their number.
        average: Success rate of all.
    """
    weak = f"{n_weak} of {groups} {'is' if n_weak == 1 else 'are'}" if n_weak else f"None of {groups} is"
    return f"{weak} clearly below the average of {rate_text(average)}."


def points(difference: float) -> str:
    """Return a difference of rates as percentage points: `+23 points`."""
    return f"{_signed(difference)}{NO_BREAK}points"


def range_text(low: float, high: float) -> str:
    """Return where a difference of rates is with a probability of 95%: `likely −4 to +58 points`."""
    return f"likely {_signed(low)} to {points(high)}"


def _signed(difference: float) -> str:
    return f"{round(100 * difference):+d}".replace("-", MINUS)
