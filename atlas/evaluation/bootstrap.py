"""The split of tasks into a half to choose on and one to report on, draws, and intervals of means over queries."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from atlas.core.statistics import Interval

T = TypeVar("T")
Half = Literal["dev", "test", "both"]
"""The half to choose on, the half to report on, or all."""

SPLIT_SEED = 4
"""Seed of the split, fixed before anything was tuned. Another one would report on tasks that were tuned on."""

MIN_GROUPS = 5
"""Number of groups below which resampling them says nothing."""

N_RESAMPLES = 2_000

Values = npt.NDArray[np.float64]
"""Shape (n_queries, n_columns)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over queries, with its uncertainty."""

    mean: float
    interval: Interval | None
    """95 % interval over samples of other tasks of the kind, or None under `MIN_GROUPS` tasks."""


def is_test(group: str, seed: int = SPLIT_SEED) -> bool:
    """Return whether a task's queries are reported on, not chosen on: about half of all tasks, always the same."""
    digest = hashlib.blake2b(f"{seed}:{group}".encode("utf-8", "replace"), digest_size=8).digest()
    return bool(digest[-1] & 1)


def is_in(half: Half, group: str) -> bool:
    """Return whether a task's queries belong to a half."""
    return half == "both" or is_test(group) == (half == "test")


def drawn(items: Sequence[T], limit: int, *, seed: int) -> list[T]:
    """Return at most so many of some items, drawn at random, in their order."""
    if len(items) <= limit:
        return list(items)
    positions = np.random.default_rng(seed).choice(len(items), limit, replace=False)
    return [items[position] for position in sorted(positions)]


def estimates(values: Values, groups: Sequence[str], *, seed: int) -> list[Estimate]:
    """Return the mean of each column with its percentile bootstrap interval.

    Queries of one task are not independent, so tasks are drawn with replacement and bring all their queries.

    Args:
        values: One row a query, at least one.
        groups: The task of each query.
        seed: The same one draws the same tasks, in whatever order the queries come.

    Source:
        Davison & Hinkley, Bootstrap Methods and their Application, 1997, §3.8 and §5.3.
    """
    intervals = _intervals(values, groups, seed)
    return [
        Estimate(mean=float(mean), interval=interval)
        for mean, interval in zip(values.mean(axis=0), intervals, strict=True)
    ]


def _intervals(values: Values, groups: Sequence[str], seed: int) -> Sequence[Interval | None]:
    names, members = np.unique(np.asarray(groups), return_inverse=True)
    if len(names) < MIN_GROUPS:
        return [None] * values.shape[1]
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, members, values)
    drawn = np.random.default_rng(seed).multinomial(len(names), [1 / len(names)] * len(names), size=N_RESAMPLES)
    means = drawn @ sums / (drawn @ np.bincount(members))[:, None]
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]
