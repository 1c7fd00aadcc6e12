"""What of a memory asks to be looked at: what nobody finds, what has gone stale, and where attempts fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

from atlas.analysis.statistics import SuccessRate

G = TypeVar("G", bound=Hashable)

FEWEST_KNOWN = 5
"""Known outcomes of a group below which nothing is said of how it does."""

_FIRST = ""
"""Sorts before every time."""


def never_retrieved(
    stored_at: Mapping[str, str], n_retrieved: Mapping[str, int], *, stored_before: str
) -> tuple[str, ...]:
    """The ids of what was stored before a time and that no search has returned yet, longest stored first.

    Args:
        stored_at: By id, as ISO 8601 in UTC; a record without it is never among them.
        n_retrieved: By id; none where it is left out.
        stored_before: As ISO 8601 in UTC.
    """
    found = [
        record_id for record_id, at in stored_at.items() if at < stored_before and not n_retrieved.get(record_id, 0)
    ]
    return tuple(sorted(found, key=lambda record_id: (stored_at[record_id], record_id)))


def stale(
    created_at: Mapping[str, str],
    stored_at: Mapping[str, str],
    last_retrieved_at: Mapping[str, str],
    *,
    attempted_before: str,
    unused_since: str,
) -> tuple[str, ...]:
    """The ids of old attempts that have lain in the store unused, oldest first.

    All times are ISO 8601 in UTC. A record without a time of its attempt or of its storing is never among them.

    Args:
        created_at: When each was attempted, by id.
        stored_at: When each was stored, by id.
        last_retrieved_at: When a search returned each last, by id; left out where none did.
        attempted_before: Later attempts are not old.
        unused_since: What was stored or retrieved after it is not unused.
    """
    found = [
        record_id
        for record_id, at in created_at.items()
        if at < attempted_before
        and record_id in stored_at
        and max(stored_at[record_id], last_retrieved_at.get(record_id, _FIRST)) < unused_since
    ]
    return tuple(sorted(found, key=lambda record_id: (created_at[record_id], record_id)))


def rates_by_group(groups: Mapping[str, G], outcomes: Mapping[str, str]) -> dict[G, SuccessRate]:
    """How the attempts of each group went; those in no group are left out.

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
    """Groups that surely do badly first: by the upper end of the interval of their rate; those nobody knows of last."""

    def place(group: G) -> tuple[float, int]:
        interval = rates[group].interval
        return (2.0 if interval is None else interval.high, -rates[group].n)

    return tuple(sorted(rates, key=place))


def is_failing(rate: SuccessRate, whole: SuccessRate) -> bool:
    """Whether a group does clearly worse than the whole: the whole's rate lies above the group's 95 % interval."""
    interval = rate.interval
    if interval is None or whole.share is None or rate.n_known < FEWEST_KNOWN:
        return False
    return interval.high < whole.share
