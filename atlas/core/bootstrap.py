"""Means with intervals, by drawing groups with replacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atlas.core.statistics import Interval

MIN_GROUPS = 5
"""Number of groups below which resampling them says nothing."""

N_RESAMPLES = 2_000

Values = npt.NDArray[np.float64]
"""Shape (n_rows, n_columns)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean with its uncertainty."""

    mean: float
    interval: Interval | None
    """95 % interval over samples of other groups of the kind, or None under `MIN_GROUPS` groups."""


def estimates(values: Values, groups: Sequence[str], *, seed: int) -> list[Estimate]:
    """Return the mean of each column with its percentile bootstrap interval.

    Rows of one group are not independent, so groups are drawn with replacement and bring all their rows.

    Args:
        values: At least one row.
        groups: The group of each row, such as the task of a query.
        seed: The same one draws the same groups, in whatever order the rows come.

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
