"""Success rates as rows of a table: of domains, tasks or sources."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from atlas.views.kinds.columns import Column
from atlas.views.lists.cells import Meter
from atlas.views.lists.queries import Row
from atlas.views.shared.rates import LIKELY_MEANS
from atlas.views.shared.wording import percent

RATE_MEANS = "Share of the attempts with a known outcome that succeeded, of how many. Unknown outcomes do not count."

RATE_COLUMNS = (
    Column("rate", "Succeeded", 110, "meter", RATE_MEANS),
    Column("interval", "Likely", 60, help_text=LIKELY_MEANS),
)
"""Columns of a rate with its interval. They leave room for a name in half a page, and the rate in half a narrow one."""


class NamedRate(Protocol):
    """Something whose attempts are counted."""

    @property
    def name(self) -> str:
        """Untrusted text."""

    @property
    def n_known(self) -> int:
        """Attempts whose outcome is known."""

    @property
    def percent_succeeded(self) -> float | None:
        """Percentage of successes, in [0, 100], or None without a known outcome."""

    @property
    def interval(self) -> str:
        """`12–49%`, or empty without a known outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRow(Row):
    """How often something succeeded. The name is untrusted."""

    name: str
    rate: Meter
    interval: str


def rate_row(
    line: NamedRate, id: str, *, is_weak: bool = False, average: float | None = None, group: str = ""
) -> RateRow:
    """Return the row of a success rate, such as `26% of 19` with its interval.

    Args:
        line: The rate.
        id: Id of the row.
        is_weak: Whether it is drawn in red.
        average: The rate to compare it with, which is marked on its bar, in [0, 1].
        group: Heading above the first of the rows that share it.
    """
    share = None if line.percent_succeeded is None else line.percent_succeeded / 100
    meter = replace(rate_meter(share, line.n_known), weak=is_weak, tick=average)
    return RateRow(id=id, name=line.name, rate=meter, interval=line.interval, group=group)


def rate_meter(share: float | None, n_known: int) -> Meter:
    """Return a success rate as a bar with `26% of 19`, or `not known` without a known outcome."""
    return Meter(share, "not known" if share is None else f"{percent(share)} of {n_known:,}")
