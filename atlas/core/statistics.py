"""Success rates with their intervals, and rates by day."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput

Z_95 = 1.959964
"""The 97.5% quantile of the standard normal distribution, for two-sided 95% intervals."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval of a share. Both bounds are in [0, 1]."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessRate:
    """Numbers of successful, failed and unknown outcomes of attempts. Unknown outcomes do not count in rates."""

    n_succeeded: int = 0
    n_failed: int = 0
    n_unknown: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> SuccessRate:
        """Return the rate for numbers of attempts by outcome."""
        return cls(
            n_succeeded=counts.get("succeeded", 0),
            n_failed=counts.get("failed", 0),
            n_unknown=counts.get("unknown", 0),
        )

    @property
    def n(self) -> int:
        """Number of attempts."""
        return self.n_known + self.n_unknown

    @property
    def n_known(self) -> int:
        """Number of attempts with a known outcome."""
        return self.n_succeeded + self.n_failed

    @property
    def share(self) -> float | None:
        """Successes among the known outcomes, in [0, 1], or None if all are unknown."""
        return self.n_succeeded / self.n_known if self.n_known else None

    @property
    def interval(self) -> Interval | None:
        """95% interval of the share, or None if no outcome is known."""
        return credible_interval(self.n_succeeded, self.n_known) if self.n_known else None


@lru_cache(maxsize=4_096)  # most tasks have the same few counts
def credible_interval(n_succeeded: int, n: int, *, level: float = 0.95) -> Interval:
    """Return the equal-tailed credible interval of a success rate after n tries, with a uniform prior.

    If all tries failed or all succeeded, the interval is extended to 0 or 1, so that it contains the observed rate.

    Args:
        n_succeeded: From 0 to n.
        level: Probability of the interval, in (0, 1).

    Raises:
        InvalidInput: An argument is out of its range.

    Source:
        Brown, Cai & DasGupta, Statistical Science 16, 2001, §4.1.2, for the extension.
    """
    if not 0 <= n_succeeded <= n:
        raise InvalidInput(f"expected n_succeeded from 0 to n = {n}, got {n_succeeded}")
    if not 0 < level < 1:
        raise InvalidInput(f"expected a confidence level in (0, 1), got {level}")
    alpha, beta, tail = 1 + n_succeeded, 1 + n - n_succeeded, (1 - level) / 2
    low = beta_quantile(tail, alpha, beta) if n_succeeded or not n else 0.0
    high = beta_quantile(1 - tail, alpha, beta) if n_succeeded < n or not n else 1.0
    return Interval(low, high)


_TOLERANCE = 1e-15
"""Relative change of a continued fraction, or width of a bracket, that counts as converged."""

_MAX_TERMS = 100_000
"""Maximum terms of a continued fraction. The root of the larger parameter suffices: thousands for millions of tries."""


@lru_cache(maxsize=4_096)
def beta_quantile(probability: float, alpha: float, beta: float) -> float:
    """Return a quantile of the Beta distribution.

    Within 1e-9 of scipy's `betaincinv`, whose import would take .3 s of the processor and 140 MB.

    Args:
        probability: In [0, 1].
        alpha: Positive.
        beta: Positive.
    """
    if probability in (0.0, 1.0):
        return probability
    low, high, x = 0.0, 1.0, alpha / (alpha + beta)
    while high - low > _TOLERANCE and low < x < high:  # Newton's steps, and halves where such a step leaves the bracket
        difference, density = beta_cdf(x, alpha, beta) - probability, _beta_density(x, alpha, beta)
        low, high = (low, x) if difference > 0 else (x, high)
        step = x - difference / density if density else low
        next_value = step if low < step < high else (low + high) / 2
        if abs(next_value - x) <= _TOLERANCE * x:
            return next_value
        x = next_value
    return x


def beta_cdf(x: float, alpha: float, beta: float) -> float:
    """Return the cumulative distribution function of the Beta distribution: the regularised incomplete beta function.

    Source:
        Continued fraction: DLMF 8.17.22. Method of evaluation: Lentz, Applied Optics 15, 1976.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (alpha + 1) / (alpha + beta + 2):  # the fraction converges fast on the other side alone
        return 1 - beta_cdf(1 - x, beta, alpha)
    log_power = alpha * math.log(x) + beta * math.log1p(-x)
    return math.exp(_log_beta_scale(alpha, beta) + log_power) / alpha * _beta_fraction(x, alpha, beta)


def _beta_density(x: float, alpha: float, beta: float) -> float:
    log_power = (alpha - 1) * math.log(x) + (beta - 1) * math.log1p(-x)
    return math.exp(_log_beta_scale(alpha, beta) + log_power)


def _log_beta_scale(alpha: float, beta: float) -> float:
    return math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta)


def _beta_fraction(x: float, alpha: float, beta: float) -> float:
    """Return the value of the continued fraction of the incomplete beta function, 1/(1 + d₁/(1 + d₂/(1 + …)))."""
    numerator, denominator = 1.0, 1 / (1 - (alpha + beta) * x / (alpha + 1))
    value = denominator
    for m in range(1, _MAX_TERMS):
        even_term = m * (beta - m) * x / ((alpha + 2 * m - 1) * (alpha + 2 * m))
        odd_term = -(alpha + m) * (alpha + beta + m) * x / ((alpha + 2 * m) * (alpha + 2 * m + 1))
        previous = value
        for coefficient in (even_term, odd_term):
            numerator, denominator = 1 + coefficient / numerator, 1 / (1 + coefficient * denominator)
            value *= numerator * denominator
        if abs(value - previous) <= _TOLERANCE * value:
            break
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredRate:
    """A success rate of attempts, several of which may belong to the same task."""

    mean: float
    n_effective: float
    """Number of independent attempts that would give an equally wide interval. At most the number of attempts."""

    @property
    def interval(self) -> Interval:
        """The exact 95% interval for the effective number of attempts."""
        n_attempts, n_successes = self.n_effective, self.mean * self.n_effective
        low = beta_quantile(0.025, n_successes, n_attempts - n_successes + 1) if n_successes > 0 else 0.0
        high = beta_quantile(0.975, n_successes + 1, n_attempts - n_successes) if n_successes < n_attempts else 1.0
        return Interval(low, high)

    def scaled(self, factor: float) -> ClusteredRate:
        """Return the rate as if it had been measured on `factor` times as many attempts."""
        return ClusteredRate(mean=self.mean, n_effective=factor * self.n_effective)


def clustered_rate(
    successes: Sequence[bool], groups: Sequence[str], weights: Sequence[float] | None = None
) -> ClusteredRate:
    """Return the success rate of attempts. Attempts of the same group are not independent.

    The effective number comes from the variance of the groups' sums. If all attempts have the same outcome, the
    effective number is the number of groups.

    Args:
        successes: The outcome of each attempt, at least one.
        groups: The group of each attempt, such as its task.
        weights: The weight of each attempt, positive. None for equal weights.

    Source:
        Korn & Graubard, Survey Methodology 1998: the exact interval of Clopper and Pearson for clustered samples.
    """
    outcomes = np.asarray(successes, dtype=float)
    weight_array = np.ones(len(successes)) if weights is None else np.asarray(weights)
    mean = float((outcomes * weight_array).sum() / weight_array.sum())
    group_indices = np.unique(np.asarray(groups), return_inverse=True)[1]
    n_groups = int(group_indices.max()) + 1
    max_n_effective = float(weight_array.sum() ** 2 / (weight_array**2).sum())
    group_variation = float((np.bincount(group_indices, weight_array * (outcomes - mean)) ** 2).sum())
    if n_groups == 1 or not group_variation:
        return ClusteredRate(mean=mean, n_effective=min(float(n_groups), max_n_effective))
    variance = n_groups / (n_groups - 1) * group_variation / weight_array.sum() ** 2
    independent_variance = mean * (1 - mean) / (len(outcomes) - 1) * len(outcomes)
    n_effective = (
        independent_variance / variance * _squared_t_quantile(len(outcomes) - 1) / _squared_t_quantile(n_groups - 1)
    )
    return ClusteredRate(mean=mean, n_effective=float(min(n_effective, max_n_effective)))


def difference_interval(first: ClusteredRate, second: ClusteredRate) -> tuple[float, float]:
    """Return the 95% interval of the first rate minus the second, in [-1, 1].

    Source:
        Zou & Donner, Statistics in Medicine 2008: both intervals combined by the distances of their ends.
    """
    difference = first.mean - second.mean
    below = math.hypot(first.mean - first.interval.low, second.interval.high - second.mean)
    above = math.hypot(first.interval.high - first.mean, second.mean - second.interval.low)
    return max(-1.0, difference - below), min(1.0, difference + above)


def _squared_t_quantile(degrees: int) -> float:
    """Return the square of the two-sided 95% critical value of Student's t distribution."""
    x = beta_quantile(0.95, 0.5, degrees / 2)
    return degrees * x / (1 - x)


def sign_test(n_won: int, n_lost: int) -> float:
    """Return the two-sided p-value of the sign test, in [0, 1].

    Args:
        n_won: Number of pairs whose first value is larger. Ties count on neither side.
        n_lost: Number of pairs whose second value is larger.

    Source:
        Dixon & Mood, Journal of the American Statistical Association 1946.
    """
    n, n_minority = n_won + n_lost, min(n_won, n_lost)
    tail: float = sum(math.comb(n, k) for k in range(n_minority + 1)) / 2**n
    return min(1.0, 2 * tail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """Attempts of one day."""

    on: date
    rate: SuccessRate


def rates_by_day(days: Mapping[str, Mapping[str, int]]) -> tuple[Day, ...]:
    """Return the success rate of each day's attempts, in order. Days without attempts are left out.

    Args:
        days: Numbers of attempts by outcome, keyed by day, such as `2026-01-31`.
    """
    rates = [Day(on=date.fromisoformat(day), rate=SuccessRate.of(outcomes)) for day, outcomes in days.items()]
    return tuple(sorted(rates, key=attrgetter("on")))


MIN_GROUPS = 5
"""Number of groups below which resampling them is meaningless."""

N_RESAMPLES = 2_000

Values = npt.NDArray[np.float64]
"""Shape (n_rows, n_columns)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean with its uncertainty."""

    mean: float
    interval: Interval | None
    """95% interval over resampled groups, or None for fewer than `MIN_GROUPS` groups."""


def estimates(values: Values, groups: Sequence[str], *, seed: int) -> list[Estimate]:
    """Return the mean of each column with its percentile bootstrap interval.

    Rows of one group are not independent, so whole groups are sampled with replacement (cluster bootstrap).

    Args:
        values: Shape (n_rows, n_columns), at least one row.
        groups: The group of each row, such as the task of a query.
        seed: Equal seeds sample the same groups, regardless of the order of rows.

    Source:
        Davison & Hinkley, Bootstrap Methods and their Application, 1997, §3.8 and §5.3.
    """
    intervals = _bootstrap_intervals(values, groups, seed)
    return [
        Estimate(mean=float(mean), interval=interval)
        for mean, interval in zip(values.mean(axis=0), intervals, strict=True)
    ]


def _bootstrap_intervals(values: Values, groups: Sequence[str], seed: int) -> Sequence[Interval | None]:
    """Return the bootstrap interval of the mean of each column, or None for fewer than `MIN_GROUPS` groups."""
    names, group_indices = np.unique(np.asarray(groups), return_inverse=True)
    if len(names) < MIN_GROUPS:
        return [None] * values.shape[1]
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, group_indices, values)
    resamples = np.random.default_rng(seed).multinomial(len(names), [1 / len(names)] * len(names), size=N_RESAMPLES)
    means = resamples @ sums / (resamples @ np.bincount(group_indices))[:, None]
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [Interval(float(lower), float(upper)) for lower, upper in zip(low, high, strict=True)]
