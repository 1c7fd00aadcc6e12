"""Counts of uses and successes in a record's metadata, for stores without usage tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from atlas.core.operations import NO_USAGE, UNTRIED_RATE, Usage
from atlas.core.types import Strategy
from atlas.protocols.strategies import SuccessRateUpdater

COUNT, SUCCESSES, RATE = "usage_count", "n_succeeded", "success_rate"
"""Metadata keys of usage, equal to the names of fields of `Strategy`."""

COLUMNS = {"usage.n_uses": COUNT, "usage.n_successes": SUCCESSES}
"""Metadata keys of the usage columns of a ledger."""


def usage_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage fields of `Strategy` from a record's metadata. Empty if the record was never used."""
    count, rate = metadata.get(COUNT, 0), metadata.get(RATE, UNTRIED_RATE)
    if not count:
        return {}
    return {COUNT: count, SUCCESSES: metadata.get(SUCCESSES, _estimate_successes(count, rate)), RATE: rate}


def with_successes(strategy: Strategy) -> Strategy:
    """Return a plug-in's strategy with a number of successes, which is estimated from the rate if missing."""
    count, rate = strategy.usage_count, strategy.success_rate
    is_valid = isinstance(count, int) and isinstance(rate, int | float) and 0 <= rate <= 1
    if not is_valid or strategy.n_succeeded:
        return strategy
    return replace(strategy, n_succeeded=_estimate_successes(count, rate))


def decode_usage(metadata: Mapping[str, Any]) -> Usage:
    """Return the usage counts in a record's metadata."""
    counts = usage_fields(metadata)
    return Usage(n_uses=counts[COUNT], n_successes=counts[SUCCESSES]) if counts else NO_USAGE


def as_metadata(usage: Usage) -> dict[str, Any]:
    """Return imported usage as metadata, with the share of successes as the success rate."""
    if not usage.n_uses:
        return {}
    rate = usage.n_successes / usage.n_uses
    return {COUNT: usage.n_uses, SUCCESSES: usage.n_successes, RATE: rate}


def with_outcome(metadata: Mapping[str, Any], success: bool, updater: SuccessRateUpdater) -> dict[str, Any]:
    """Return a record's metadata after one more use, with the updated rate and count."""
    counts = usage_fields(metadata) or {COUNT: 0, SUCCESSES: 0, RATE: UNTRIED_RATE}
    rate, count = updater.update(counts[RATE], counts[COUNT], success)
    return {**metadata, COUNT: int(count), SUCCESSES: counts[SUCCESSES] + success, RATE: float(rate)}


def _estimate_successes(count: int, rate: float) -> int:
    return round(count * rate)
