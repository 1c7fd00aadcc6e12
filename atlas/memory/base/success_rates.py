"""Success rates: updaters, credible intervals and trends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atlas.core.errors import InvalidInput
from atlas.core.imports.plugins import SUCCESS_UPDATERS, find_plugin, installed_plugins
from atlas.core.operations import UNTRIED_RATE
from atlas.core.statistics import credible_interval
from atlas.protocols.strategies import SuccessRateUpdater

MIN_TREND = 6
"""Minimum number of tries for a trend: three earlier and three recent tries."""

MAX_RECENT = 10
Z_90 = 1.2816
"""The 90% quantile of the standard normal distribution."""


class EMASuccessUpdater:
    """An exponential moving average in which the latest outcome has the weight `alpha`."""

    def __init__(self, alpha: float = 0.1) -> None:
        """Raise `InvalidInput` unless `alpha` is in (0, 1]."""
        if not _is_number(alpha) or not 0 < alpha <= 1:
            raise InvalidInput(f"expected alpha in (0, 1], got {alpha!r}")
        self.alpha = alpha

    def update(self, current_rate: float, current_count: int, success: bool) -> tuple[float, int]:
        """Return the rate and the count after one more outcome."""
        return self.alpha * success + (1 - self.alpha) * current_rate, current_count + 1


class SimpleAverageUpdater:
    """The share of successes. The initial guess has no weight."""

    def update(self, current_rate: float, current_count: int, success: bool) -> tuple[float, int]:
        """Return the rate and the count after one more outcome."""
        return (current_rate * current_count + success) / (current_count + 1), current_count + 1


class BayesianUpdater:
    """The mean of the Beta posterior of the rate. The prior replaces the initial guess."""

    def __init__(self, prior_alpha: float = 1.0, prior_beta: float = 1.0) -> None:
        """Raise `InvalidInput` unless both are positive and finite. 1 and 1 are a uniform prior."""
        _check_prior(prior_alpha, prior_beta)
        self.prior_alpha = prior_alpha
        self.prior_beta = prior_beta

    def update(self, current_rate: float, current_count: int, success: bool) -> tuple[float, int]:
        """Return the rate and the count after one more outcome."""
        weight = self.prior_alpha + self.prior_beta + current_count
        successes = current_rate * weight if current_count else self.prior_alpha
        return (successes + success) / (weight + 1), current_count + 1


class RecencyWeightedUpdater:
    """A weighted average in which the weight of an outcome halves with every `half_life` later outcomes."""

    def __init__(self, half_life: float = 10.0) -> None:
        """Raise `InvalidInput` unless `half_life`, in outcomes, is positive."""
        if not _is_number(half_life) or not 0 < half_life < math.inf:
            raise InvalidInput(f"expected a positive number of outcomes for half_life, got {half_life!r}")
        self.half_life = half_life

    def update(self, current_rate: float, current_count: int, success: bool) -> tuple[float, int]:
        """Return the rate and the count after one more outcome."""
        decay = -math.log(2) / self.half_life
        earlier_weight = math.exp(decay) * math.expm1(current_count * decay) / math.expm1(decay)
        return (earlier_weight * current_rate + success) / (earlier_weight + 1), current_count + 1


UPDATERS: Mapping[str, Callable[[], SuccessRateUpdater]] = {
    "ema": EMASuccessUpdater,
    "average": SimpleAverageUpdater,
    "bayesian": BayesianUpdater,
    "recency": RecencyWeightedUpdater,
}
"""ATLAS's own updaters, keyed by their name in `ATLAS_SUCCESS_UPDATER`."""


def find_updater(name: str) -> SuccessRateUpdater:
    """Return an updater of ATLAS or of a plug-in by its name.

    Raises:
        InvalidInput: The name is unknown.
        PluginUnusable: The plug-in cannot be used.
    """
    if name in UPDATERS:
        return UPDATERS[name]()
    plugin = find_plugin(SUCCESS_UPDATERS, name)
    if plugin is None:
        names = ", ".join([*UPDATERS, *(other_plugin.name for other_plugin in installed_plugins(SUCCESS_UPDATERS))])
        raise InvalidInput(f"expected one of {names} for ATLAS_SUCCESS_UPDATER, got {name!r}")
    return plugin.make(SuccessRateUpdater)  # type: ignore[type-abstract]


class RecordedOutcome(Protocol):
    """The recorded outcome of one attempt that used a record."""

    @property
    def success(self) -> bool | None:
        """True if the attempt succeeded, False if it failed, or None if unknown."""
        ...

    @property
    def at(self) -> datetime:
        """Time of the attempt, with a time zone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePoint:
    """The success rate after one of the outcomes."""

    at: datetime
    success: bool
    rate: float
    count: int


def replay(
    updater: SuccessRateUpdater, outcomes: Iterable[RecordedOutcome], *, first_guess: float = UNTRIED_RATE
) -> list[RatePoint]:
    """Return the rate after each outcome, oldest first, as computed by this updater.

    Unknown outcomes are ignored.
    """
    rate, count, points = first_guess, 0, []
    for outcome in sorted(outcomes, key=lambda outcome: outcome.at):
        if outcome.success is not None:
            rate, count = updater.update(rate, count, outcome.success)
            points.append(RatePoint(at=outcome.at, success=outcome.success, rate=rate, count=count))
    return points


def lower_bound(n_succeeded: int, n: int) -> float:
    """Return the lower bound of the 95% interval, a cautious estimate of the rate."""
    return credible_interval(n_succeeded, n).low


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The change of the success rate from the earlier to the latest attempts."""

    before: float
    """Success rate of the earlier tries, in [0, 1]."""

    recent: float
    n_recent: int
    direction: int
    """1 or -1 where the success rate has changed with a probability of 90%, else 0."""


def trend(outcomes: Sequence[bool]) -> Trend | None:
    """Return the trend of outcomes, oldest first, or None for fewer than six.

    The latest attempts are the second half, but at most ten. Both rates have Beta posteriors, and their difference is
    approximated by a normal distribution.
    """
    if len(outcomes) < MIN_TREND:
        return None
    n_recent = min(MAX_RECENT, len(outcomes) // 2)
    earlier_outcomes, recent_outcomes = outcomes[:-n_recent], outcomes[-n_recent:]
    mean_before, variance_before = _mean_and_variance(earlier_outcomes)
    recent_mean, recent_variance = _mean_and_variance(recent_outcomes)
    z = (recent_mean - mean_before) / math.sqrt(variance_before + recent_variance)
    return Trend(
        before=sum(earlier_outcomes) / len(earlier_outcomes),
        recent=sum(recent_outcomes) / len(recent_outcomes),
        n_recent=n_recent,
        direction=(z > Z_90) - (z < -Z_90),
    )


def _mean_and_variance(outcomes: Sequence[bool]) -> tuple[float, float]:
    """Return mean and variance of the Beta posterior of the success rate after these outcomes, with a uniform prior."""
    alpha, n = 1 + sum(outcomes), 2 + len(outcomes)
    return alpha / n, alpha * (n - alpha) / (n * n * (n + 1))


def _check_prior(alpha: float, beta: float) -> None:
    if not all(_is_number(weight) and 0 < weight < math.inf for weight in (alpha, beta)):
        raise InvalidInput(
            f"expected positive, finite numbers for a prior's alpha and beta, got {alpha!r} and {beta!r}"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
