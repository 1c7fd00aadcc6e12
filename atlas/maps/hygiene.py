"""Groups of attempts that need attention because they fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

from atlas.core.statistics import SuccessRate

G = TypeVar("G", bound=Hashable)

MIN_KNOWN = 5
"""Smallest number of known outcomes at which a group is judged."""


def rates_by_group(groups: Mapping[str, G], outcomes: Mapping[str, str]) -> dict[G, SuccessRate]:
    """Return the success rate of each group, keyed by group. Attempts without a group are left out.

    Args:
        groups: The group of each attempt, keyed by the attempt's id.
        outcomes: `succeeded`, `failed` or `unknown`, keyed by the attempt's id.
    """
    counts: dict[G, Counter[str]] = {}
    for record_id, outcome in outcomes.items():
        if record_id in groups:
            counts.setdefault(groups[record_id], Counter())[outcome] += 1
    return {group: SuccessRate.of(outcome_counts) for group, outcome_counts in counts.items()}


def worst_first(rates: Mapping[G, SuccessRate]) -> tuple[G, ...]:
    """Return the groups sorted by the upper bound of their success rate's interval, lowest first.

    Groups without a known outcome are last.
    """

    def sort_key(group: G) -> tuple[float, int]:
        interval = rates[group].interval
        return (2.0 if interval is None else interval.high, -rates[group].n)

    return tuple(sorted(rates, key=sort_key))


def is_failing(rate: SuccessRate, overall: SuccessRate) -> bool:
    """Return whether the 95% interval of a group's success rate lies below the overall rate."""
    interval = rate.interval
    if interval is None or overall.share is None or rate.n_known < MIN_KNOWN:
        return False
    return interval.high < overall.share
