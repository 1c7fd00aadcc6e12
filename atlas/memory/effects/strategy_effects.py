"""The effect of a strategy: attempts that used it, against attempts at similar tasks that did not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from atlas.core.errors import NotFound
from atlas.core.operations import Use
from atlas.core.statistics import Interval
from atlas.memory.base.scoring import NUDGES
from atlas.memory.base.success_rates import credible_interval
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.strategy_sources import Attempt, attempts, rate_without

SIMILAR = 500
"""Most experiences that are considered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """Attempts with a known outcome."""

    n: int
    n_succeeded: int

    @property
    def rate(self) -> float | None:
        """The share that succeeded, in [0, 1], or None if there are no attempts."""
        return self.n_succeeded / self.n if self.n else None

    @property
    def interval(self) -> Interval:
        """Where their success rate lies with a probability of 95 %."""
        return credible_interval(self.n_succeeded, self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyEffect:
    """How attempts went with a strategy, and how attempts at similar tasks went without it.

    Strategies are not used at random, so a difference is a correlation and no effect.
    """

    used: Tries
    """It helped in those that succeeded, and did not in the others."""

    not_used: Tries
    """Its base rate. The attempts that it was abstracted from are among these: they were made without it."""

    n_unplaced: int = 0
    """Tries that name neither their attempt nor its task, and so may be among `not_used` as well."""

    @property
    def difference(self) -> float | None:
        """How much higher the success rate is with it, in [-1, 1], or None if either is not known."""
        with_it, without = self.used.rate, self.not_used.rate
        return None if with_it is None or without is None else with_it - without

    @property
    def verdict(self) -> str:
        """`helps` or `hurts` where the intervals do not meet, `unclear` if they do.

        `not used` without a try; `unplaced` where some tries may be on both sides.
        """
        if not self.used.n:
            return "not used"
        if self.n_unplaced and self.not_used.n:
            return "unplaced"
        if self.used.interval.low > self.not_used.interval.high:
            return "helps"
        return "hurts" if self.used.interval.high < self.not_used.interval.low else "unclear"


def effect_among(tries: Sequence[Use], similar: Iterable[Attempt]) -> StrategyEffect:
    """Return the effect of a strategy, from its recorded tries and from attempts at similar tasks.

    Args:
        similar: Its tries among them are left out, as in `rate_without`. So are those of unknown outcome.
    """
    without = rate_without(similar, tries)
    return StrategyEffect(
        used=Tries(n=len(tries), n_succeeded=sum(use.success for use in tries)),
        not_used=Tries(n=without.n_known, n_succeeded=without.n_succeeded),
        n_unplaced=sum(not use.trajectory_id and not use.task_id for use in tries),
    )


def effect(
    bank: ChromaStrategyBank, experience: ChromaExperienceMemory, strategy_id: str, k: int = SIMILAR
) -> StrategyEffect:
    """Return the effect of a strategy against at most k experiences whose tasks are the most relevant to its situation.

    They are found by meaning and words alone, buried ones too: what agents are shown first are those that worked.

    Raises:
        NotFound: It does not exist.
    """
    strategy = bank.get(strategy_id)
    if strategy is None:
        raise NotFound(f"there is no strategy {strategy_id!r}; it may have been deleted (see: atlas history)")
    tries = bank.attempts(strategy_id)
    plain = replace(experience.weights, **dict.fromkeys(NUDGES, 0.0))
    found = experience.ranked_with(plain, reranked=False).retrieve(
        strategy.situation, k, count_retrieval=False, with_buried=True
    )
    ids = [hit.item.id for hit in found.hits]
    return effect_among(tries, attempts(experience, {"id": {"$in": ids}}) if ids else [])
