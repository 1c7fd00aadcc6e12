"""Whether a strategy helps: attempts that used it, against attempts at similar tasks that did not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from atlas.analysis.statistics import Interval
from atlas.core.errors import NotFound
from atlas.core.types import Experience, Use
from atlas.infra import aio
from atlas.memory.experience import ChromaExperienceMemory
from atlas.memory.strategies import ChromaStrategyBank
from atlas.memory.updating import credible_interval

SIMILAR = 50
"""Experiences that are looked at, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """Attempts with a known outcome."""

    n: int
    n_succeeded: int

    @property
    def rate(self) -> float | None:
        """The share that succeeded, in [0, 1]; None of none."""
        return self.n_succeeded / self.n if self.n else None

    @property
    def interval(self) -> Interval:
        """Where their success rate lies with a probability of 95 %."""
        return credible_interval(self.n_succeeded, self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyEffect:
    """How attempts went with a strategy, and how attempts at similar tasks went without it.

    Nobody drew lots over who uses it, so a difference says that they go together, not that one makes the other.
    """

    used: Tries
    """It helped in those that succeeded, and did not in the others."""

    not_used: Tries
    """Its base rate. The attempts that it was abstracted from are among these: they were made without it."""

    @property
    def difference(self) -> float | None:
        """How much higher the success rate is with it, in [-1, 1]; None where either is not known."""
        with_it, without = self.used.rate, self.not_used.rate
        return None if with_it is None or without is None else with_it - without

    @property
    def verdict(self) -> str:
        """`helps` or `hurts` where the intervals do not meet, `unclear` where they do, `not used` without a try."""
        if not self.used.n:
            return "not used"
        if self.used.interval.low > self.not_used.interval.high:
            return "helps"
        return "hurts" if self.used.interval.high < self.not_used.interval.low else "unclear"


def effect_among(attempts: Sequence[Use], similar: Iterable[Experience]) -> StrategyEffect:
    """The effect of a strategy, from its recorded attempts and from experiences with similar tasks.

    Args:
        similar: Those of its own attempts among them are left out; so are those whose outcome is not known.
    """
    own = {use.trajectory_id for use in attempts if use.trajectory_id}
    others = [one.success for one in similar if one.trajectory_id not in own and one.success is not None]
    return StrategyEffect(
        used=Tries(n=len(attempts), n_succeeded=sum(use.success for use in attempts)),
        not_used=Tries(n=len(others), n_succeeded=sum(others)),
    )


async def aeffect(
    bank: ChromaStrategyBank, experience: ChromaExperienceMemory, strategy_id: str, k: int = SIMILAR
) -> StrategyEffect:
    """The effect of a strategy against at most k experiences whose tasks are relevant to its situation.

    Raises:
        NotFound: It is not there.
    """
    strategy = await bank.aget(strategy_id)
    if strategy is None:
        raise NotFound(f"there is no strategy {strategy_id!r}; it may have been deleted (see: atlas history)")
    attempts = await bank.aattempts(strategy_id)
    found = await experience.aretrieve(strategy.situation, k, count_retrieval=False)
    return effect_among(attempts, [hit.item for hit in found.hits])


def effect(
    bank: ChromaStrategyBank, experience: ChromaExperienceMemory, strategy_id: str, k: int = SIMILAR
) -> StrategyEffect:
    """Sync form of `aeffect`."""
    return aio.run(aeffect(bank, experience, strategy_id, k))
