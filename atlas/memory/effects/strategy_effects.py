"""The effect of a strategy: the success rates of attempts with the strategy, and without it at similar tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from atlas.core.errors import NotFound
from atlas.core.operations import Use
from atlas.core.statistics import Interval, credible_interval
from atlas.memory.base.scoring import NUDGES
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.strategy_sources import Attempt, rate_of_others, read_attempts

N_SIMILAR = 500
"""Maximum number of experiences to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """The numbers of attempts with a known outcome and of successes."""

    n: int
    n_succeeded: int

    @property
    def rate(self) -> float | None:
        """Success rate, in [0, 1], or None without attempts."""
        return self.n_succeeded / self.n if self.n else None

    @property
    def interval(self) -> Interval:
        """95% credible interval of the success rate."""
        return credible_interval(self.n_succeeded, self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyEffect:
    """The success rates with a strategy, and without it at similar tasks.

    Strategies are not used at random, so a difference is a correlation, not a causal effect.
    """

    used: Tries
    """Attempts that used the strategy."""

    not_used: Tries
    """Attempts without the strategy, for the base rate.

    The sources of the strategy are included, because they are older than it.
    """

    n_unplaced: int = 0
    """Number of tries without the id of an attempt or task. Such tries may be counted in `not_used` too."""

    @property
    def difference(self) -> float | None:
        """Success rate with the strategy minus success rate without, in [-1, 1]. None if either is unknown."""
        rate, other_rate = self.used.rate, self.not_used.rate
        return None if rate is None or other_rate is None else rate - other_rate

    @property
    def verdict(self) -> str:
        """`helps` or `hurts` if the intervals do not overlap, or else `unclear`.

        It is `not used` without recorded attempts, and `unplaced` if attempts may be counted in both groups.
        """
        if not self.used.n:
            return "not used"
        if self.n_unplaced and self.not_used.n:
            return "unplaced"
        if self.used.interval.low > self.not_used.interval.high:
            return "helps"
        return "hurts" if self.used.interval.high < self.not_used.interval.low else "unclear"


def effect_among(uses: Sequence[Use], similar_attempts: Iterable[Attempt]) -> StrategyEffect:
    """Return the effect of a strategy, from its recorded uses and from attempts at similar tasks.

    Args:
        similar_attempts: Attempts at similar tasks. Those that used the strategy, or have an unknown outcome, are not
            counted, as in `rate_of_others`.
    """
    others = rate_of_others(similar_attempts, uses)
    return StrategyEffect(
        used=Tries(n=len(uses), n_succeeded=sum(use.success for use in uses)),
        not_used=Tries(n=others.n_known, n_succeeded=others.n_succeeded),
        n_unplaced=sum(not use.trajectory_id and not use.task_id for use in uses),
    )


def strategy_effect(
    bank: ChromaStrategyBank, experience: ChromaExperienceMemory, strategy_id: str, k: int = N_SIMILAR
) -> StrategyEffect:
    """Return the effect of a strategy, compared with the k experiences most relevant to its situation.

    The experiences are ranked by meaning and words only, because other signals favour successes. Buried experiences
    are included.

    Raises:
        NotFound: The strategy does not exist.
    """
    strategy = bank.get(strategy_id)
    if strategy is None:
        raise NotFound(f"there is no strategy {strategy_id!r}; it may have been deleted (see: atlas history)")
    uses = bank.attempts(strategy_id)
    relevance_weights = replace(experience.weights, **dict.fromkeys(NUDGES, 0.0))
    retrieval = experience.ranked_with(relevance_weights, reranked=False).retrieve(
        strategy.situation, k, count_retrieval=False, with_buried=True
    )
    ids = [hit.item.id for hit in retrieval.hits]
    return effect_among(uses, read_attempts(experience, {"id": {"$in": ids}}) if ids else [])
