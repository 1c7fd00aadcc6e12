"""Success rates of strategies, and retirement for bad outcomes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from atlas.core.operations import Marks, Usage
from atlas.core.statistics import Interval, credible_interval
from atlas.core.types import Strategy
from atlas.memory.base.marks import MarksChange
from atlas.memory.base.success_rates import lower_bound
from atlas.storage.collection import Collection

BY_HAND = "by hand"
BY_OUTCOMES = "by its outcomes"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetirementRule:
    """The rule for retiring a strategy because of its outcomes."""

    floor: float = 0.25
    """A strategy is retired if its success rate is below the floor with a probability of 97.5%.

    The floor is well below the success rate of agents. On τ-bench, agents succeed in 42% of the attempts, and a floor
    of 0.4 retired 6 of 36 strategies only because they were retrieved for hard tasks.
    """

    min_tries: int = 5

    def retires(self, n_succeeded: int, n: int) -> bool:
        """Return whether `n_succeeded` successes in n tries retire a strategy. By default, 0 in 12 or 1 in 19 do."""
        return n >= self.min_tries and credible_interval(n_succeeded, n).high < self.floor


RETIREMENT = RetirementRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyRate:
    """The success rate of a strategy, with its interval and its number of tries."""

    rate: float | None
    """Estimate of the bank's updater, in [0, 1], or None before any try."""

    n: int
    n_succeeded: int
    interval: Interval
    """95% credible interval of the success rate, with a uniform prior."""

    retired: str
    """`by hand`, `by its outcomes`, or empty for an active strategy."""


def rates_of(
    strategies: Iterable[Strategy], marks: Mapping[str, Marks], rule: RetirementRule
) -> dict[str, StrategyRate]:
    """Return the success rate of each strategy, keyed by id."""
    rates = {}
    for strategy in strategies:
        fails_often = rule.retires(strategy.n_succeeded, strategy.usage_count) and not marks[strategy.id].pinned
        retired = BY_OUTCOMES if fails_often else ""
        rates[strategy.id] = StrategyRate(
            rate=strategy.success_rate if strategy.usage_count else None,
            n=strategy.usage_count,
            n_succeeded=strategy.n_succeeded,
            interval=credible_interval(strategy.n_succeeded, strategy.usage_count),
            retired=BY_HAND if marks[strategy.id].buried else retired,
        )
    return rates


def read_retired(store: Collection, rule: RetirementRule) -> dict[str, str]:
    """Return the reason why each retired strategy is retired, keyed by id."""
    with store.reading():
        by_outcomes = dict.fromkeys(find_retired_by_outcomes(store, rule), BY_OUTCOMES)
        return by_outcomes | dict.fromkeys(store.ids({"marks.buried": True}), BY_HAND)


def find_retired_by_outcomes(store: Collection, rule: RetirementRule) -> set[str]:
    """Return the ids of the strategies that are retired for their outcomes."""
    n_uses, n_succeeded = store.column("usage.n_uses"), store.column("usage.n_successes")
    retired_ids = {strategy_id for strategy_id, n in n_uses.items() if rule.retires(n_succeeded.get(strategy_id, 0), n)}
    if not retired_ids:
        return retired_ids
    marks = store.marks(list(retired_ids))
    return {strategy_id for strategy_id in retired_ids if not marks[strategy_id].pinned}


def unretire(store: Collection, strategy_ids: Sequence[str], retired_by_outcomes: Container[str]) -> int:
    """Bring retired strategies back into searches, and return the number of changed strategies.

    Args:
        retired_by_outcomes: Ids of the strategies that were retired for their outcomes. These are pinned, so that they
            are not retired again.
    """
    operation_store = store.ensure_operation("mark", "unretired")
    changes = {
        MarksChange(pinned=True, buried=False): [
            strategy_id for strategy_id in strategy_ids if strategy_id in retired_by_outcomes
        ],
        MarksChange(buried=False): [
            strategy_id for strategy_id in strategy_ids if strategy_id not in retired_by_outcomes
        ],
    }
    return sum(operation_store.change_marks(ids, change) for change, ids in changes.items() if ids)


@lru_cache(maxsize=4_096)
def _lower_bound(n_succeeded: int, n: int) -> float:
    return lower_bound(n_succeeded, n)


def cautious_success_rate(usage: Usage) -> float:
    """Return the lower bound of a strategy's success rate, which searches use as its estimate of success."""
    return _lower_bound(usage.n_successes, usage.n_uses)
