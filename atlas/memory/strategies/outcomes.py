"""The statistics of the strategy bank, as coroutines: how surely each strategy works, and which are retired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from atlas.core.errors import InvalidInput
from atlas.core.operations import Usage, Use
from atlas.core.settings import RankingWeights
from atlas.core.statistics import Interval
from atlas.core.types import Strategy
from atlas.infra.clock import SystemClock
from atlas.infra.twin import twin
from atlas.memory.base.columns import columns
from atlas.memory.base.marks import MarksChange
from atlas.memory.base.memory import Memory, Row, Weights
from atlas.memory.base.success_rates import EMASuccessUpdater, credible_interval, lower_bound
from atlas.memory.strategies.records import TextOf, from_row, situation_of, to_entry
from atlas.protocols.infra import Clock, Embedder, VectorStore
from atlas.protocols.strategies import StrategyAbstractor, SuccessRateUpdater
from atlas.storage.collection import Collection

COLLECTION = "atlas_strategies"

SAME_SITUATION = 0.92
"""Cosine from which two situations count as one.

Measured on τ-bench's airline tasks with MiniLM: situations abstracted from attempts at one task are at 0.985 and more,
those of different tasks at 0.866 and less.
"""

BY_HAND = "by hand"
BY_OUTCOMES = "by its outcomes"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetirementRule:
    """When outcomes alone keep a strategy from being read."""

    floor: float = 0.25
    """It is retired when its success rate is below this with a probability of 97.5 %.

    Well below what agents reach at all: on τ-bench, where they succeed in 42 %, a floor of 0.4 retired 6 strategies of
    36, for having been retrieved for hard tasks.
    """

    min_tries: int = 5

    def holds(self, n_succeeded: int, n: int) -> bool:
        """Whether so many successes in n tries retire it; with the defaults, 0 of 12 does, and 1 of 19."""
        return n >= self.min_tries and credible_interval(n_succeeded, n).high < self.floor


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyRate:
    """How well a strategy works, on how many tries, and how sure that is."""

    rate: float
    """As the bank's updater estimates it, in [0, 1]; 0.5 before any try."""

    n: int
    n_succeeded: int
    interval: Interval
    """Where the success rate lies with a probability of 95 %, held for anything before any try."""

    retired: str
    """`by hand`, `by its outcomes`, or empty for one that is read."""


class StrategyOutcomes(Memory[Strategy]):
    """What to do in which situation, and how often that went well."""

    noun = "strategy"
    success_updater: SuccessRateUpdater

    def __init__(
        self,
        embedder: Embedder,
        vector_store: VectorStore | Collection,
        abstractor: StrategyAbstractor,
        success_updater: SuccessRateUpdater = EMASuccessUpdater(),
        collection_name: str = COLLECTION,
        *,
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
        text_of: TextOf = situation_of,
        same_situation: float = SAME_SITUATION,
        retirement: RetirementRule = RetirementRule(),
    ) -> None:
        """Open a bank.

        Args:
            text_of: What of a strategy is embedded.
            same_situation: Cosine of what is embedded from which `write` takes two strategies for one, in (0, 1].
            retirement: When outcomes alone retire one.

        Raises:
            InvalidInput: `same_situation` is not in its range.
        """
        if not 0 < same_situation <= 1:
            raise InvalidInput(f"same_situation should be above 0 and at most 1, but is {same_situation!r}")
        super().__init__(embedder, vector_store, collection_name, weights, clock, success_updater=success_updater)
        self.abstractor = abstractor
        self.retirement = retirement
        self._text_of = text_of
        self._same_situation = same_situation
        self._retriever.prior = _prior

    def with_updater(self, success_updater: SuccessRateUpdater) -> Self:
        """This bank with another updater, which gives every rate from the same recorded attempts."""
        made = self._over(self._store)
        made.success_updater = success_updater
        made._retriever = self._retriever
        return made

    def with_abstractor(self, abstractor: StrategyAbstractor) -> Self:
        """This bank with another abstractor, which writes its next strategies."""
        made = self._over(self._store)
        made.abstractor = abstractor
        made._retriever = self._retriever
        return made

    def _over(self, store: Collection) -> Self:
        return type(self)(
            self.embedder,
            store,
            self.abstractor,
            self.success_updater,
            self.collection_name,
            weights=self._weights,
            clock=self._clock,
            text_of=self._text_of,
            same_situation=self._same_situation,
            retirement=self.retirement,
        )

    # Outcomes

    def update_stats(self, strategy_id: str, success: bool, *, task_id: str = "", trajectory_id: str = "") -> None:
        """Say how an attempt went that this strategy was used for; `NotFound` where it is not there."""
        self.record_use(strategy_id, success, task_id=task_id, trajectory_id=trajectory_id)

    aupdate_stats = twin(update_stats)

    def attempts(self, strategy_id: str) -> list[Use]:
        """Every recorded attempt that a strategy, or one merged into it, was used for, oldest first.

        Raises:
            NotFound: It is not there.
        """
        self._row(strategy_id)
        return self._store.uses([strategy_id])[strategy_id]

    aattempts = twin(attempts)

    def attempts_of(self, strategy_ids: Sequence[str]) -> dict[str, list[Use]]:
        """The recorded attempts of each of several strategies, oldest first; none of one that is not there."""
        return self._store.uses(strategy_ids)

    aattempts_of = twin(attempts_of)

    def rate(self, strategy_id: str) -> StrategyRate:
        """How well a strategy works, and how sure that is; `NotFound` where it is not there."""
        self._row(strategy_id)
        return self.rates([strategy_id])[strategy_id]

    arate = twin(rate)

    def rates(self, strategy_ids: Sequence[str]) -> dict[str, StrategyRate]:
        """How well each strategy works that is there, by id."""
        marks, rates = self._store.marks(strategy_ids), {}
        for strategy in self.get_many(strategy_ids):
            n_succeeded, n = strategy.n_succeeded, strategy.usage_count
            is_outworn = self.retirement.holds(n_succeeded, n) and not marks[strategy.id].pinned
            rates[strategy.id] = StrategyRate(
                rate=strategy.success_rate,
                n=n,
                n_succeeded=n_succeeded,
                interval=credible_interval(n_succeeded, n),
                retired=BY_HAND if marks[strategy.id].buried else BY_OUTCOMES if is_outworn else "",
            )
        return rates

    arates = twin(rates)

    def retired(self) -> dict[str, str]:
        """What keeps each strategy from being read that is not: `by hand` or `by its outcomes`, by id."""
        outworn = dict.fromkeys(self._outworn(), BY_OUTCOMES)
        return outworn | dict.fromkeys(self._store.ids({"marks.buried": True}), BY_HAND)

    aretired = twin(retired)

    def retire(self, strategy_ids: Sequence[str]) -> int:
        """Keep strategies from being read, as burying does, without deleting them; how many changed."""
        return self.change_marks(strategy_ids, buried=True)

    aretire = twin(retire)

    def unretire(self, strategy_ids: Sequence[str]) -> int:
        """Let strategies be read again; those that their outcomes retired are pinned, which overrules that."""
        ids, outworn = list(dict.fromkeys(strategy_ids)), self._outworn()
        pin, unbury = MarksChange(pinned=True, buried=False), MarksChange(buried=False)
        scoped = self._store if self.operation_id else self._store.within("mark", "unretired")
        changed = 0
        for change, chosen in ((pin, [i for i in ids if i in outworn]), (unbury, [i for i in ids if i not in outworn])):
            changed += scoped.change_marks(chosen, change) if chosen else 0
        return changed

    aunretire = twin(unretire)

    # Steps of the above

    def _read(self, rows: Sequence[Row]) -> list[Strategy]:
        uses = self._store.uses([row["id"] for row in rows])
        return [from_row(row, uses[row["id"]], self.success_updater) for row in rows]

    def _columns(self, *strategies: Strategy) -> tuple[list[str], list[Any], list[dict[str, Any]], list[str]]:
        return columns([to_entry(one, self._text_of) for one in strategies], self._store, self.embedder, {})

    def _withheld(self) -> set[str]:
        return self._outworn()

    def _outworn(self) -> set[str]:
        """The ids of those that their outcomes retire."""
        n_uses = self._store.column("usage.n_uses")
        n_succeeded = self._store.column("usage.n_successes")
        outworn = {i for i, n in n_uses.items() if self.retirement.holds(n_succeeded.get(i, 0), n)}
        marks = self._store.marks(list(outworn))
        return {strategy_id for strategy_id in outworn if not marks[strategy_id].pinned}


@lru_cache(maxsize=4_096)
def _lower_bound(n_succeeded: int, n: int) -> float:
    return lower_bound(n_succeeded, n)


def _prior(usage: Usage) -> float:
    """What a strategy may be counted on for."""
    return _lower_bound(usage.n_successes, usage.n_uses)
