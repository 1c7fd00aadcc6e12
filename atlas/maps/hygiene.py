"""Groups of attempts that need attention because they fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

from atlas.core.statistics import SuccessRate

G = TypeVar("G", bound=Hashable)

MIN_KNOWN = 5
"""Smallest number of known outcomes for a statement about a group."""


def rates_by_group(groups: Mapping[str, G], outcomes: Mapping[str, str]) -> dict[G, SuccessRate]:
    """Return how the attempts of each group went. Those in no group are left out.

    Args:
        groups: The group of each record, by id.
        outcomes: `succeeded`, `failed` or `unknown`, by id.
    """
    counts: dict[G, Counter[str]] = {}
    for record_id, outcome in outcomes.items():
        if record_id in groups:
            counts.setdefault(groups[record_id], Counter())[outcome] += 1
    return {group: SuccessRate.of(tally) for group, tally in counts.items()}


def worst_first(rates: Mapping[G, SuccessRate]) -> tuple[G, ...]:
    """Return groups that surely do badly first: by the upper end of the interval of their rate.

    Unknown ones last.
    """

    def place(group: G) -> tuple[float, int]:
        interval = rates[group].interval
        return (2.0 if interval is None else interval.high, -rates[group].n)

    return tuple(sorted(rates, key=place))


def is_failing(rate: SuccessRate, overall: SuccessRate) -> bool:
    """Return whether a group is clearly worse than all records: their rate lies above the group's 95 % interval."""
    interval = rate.interval
    if interval is None or overall.share is None or rate.n_known < MIN_KNOWN:
        return False
    return interval.high < overall.share
