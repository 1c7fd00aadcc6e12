"""The randomised effect of memory: the success rates of attempts with memories and of held-out attempts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from atlas.core.statistics import ClusteredRate, clustered_rate, difference_interval
from atlas.memory.effects.strategy_effects import Tries
from atlas.memory.experience.extraction import ARM, HELD_OUT, SHARE, SHOWN, title_of
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.strategy_sources import merged_experiences

MAX_FACTOR = 1_000
"""Largest predicted number of further attempts, as a multiple of the present number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedAttempt:
    """A randomly assigned attempt with a known outcome."""

    task: str
    """The task's id, or the start of its description if it has none."""

    success: bool
    is_held_out: bool
    share: float
    """The probability of being held out, in (0, 1)."""

    @property
    def weight(self) -> float:
        """Inverse probability of the attempt's assignment. It corrects for changes of the held-out share over time."""
        return 1 / (self.share if self.is_held_out else 1 - self.share)


@dataclass(frozen=True, kw_only=True)
class RandomisedEffect:
    """The success rates of attempts with memories, and of randomly held-out attempts.

    The analysis is by intention to treat: each attempt counts in its assigned group, whichever memories it used.
    """

    attempts: tuple[AssignedAttempt, ...] = field(repr=False)
    """Attempts of both groups, at least one of each."""

    @property
    def shown(self) -> Tries:
        """Attempts that received memories."""
        return _count_tries(self._group(is_held_out=False))

    @property
    def held_out(self) -> Tries:
        """Held-out attempts, which received no memories."""
        return _count_tries(self._group(is_held_out=True))

    @cached_property
    def n_tasks(self) -> int:
        """Number of distinct tasks."""
        return len({attempt.task for attempt in self.attempts})

    @property
    def difference(self) -> float:
        """Success rate with memories minus success rate without, in [-1, 1]."""
        shown_rate, held_out = self._rates
        return shown_rate.mean - held_out.mean

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the difference, in [-1, 1], clustered by task."""
        return difference_interval(*self._rates)

    @property
    def is_decided(self) -> bool:
        """True if the interval excludes 0."""
        low, high = self.interval
        return low > 0 or high < 0

    @cached_property
    def n_more(self) -> int | None:
        """Number of further attempts after which the interval would exclude 0, at the present rates.

        None if the rates are equal, or if more than `MAX_FACTOR` times the present attempts would be needed.
        """
        if self.is_decided:
            return 0
        too_small, large_enough = 1.0, 2.0
        while not self._is_decided_by_more(large_enough):
            too_small, large_enough = large_enough, 2 * large_enough
            if too_small > MAX_FACTOR:
                return None
        while large_enough - too_small > 0.01 * too_small:
            middle = (too_small + large_enough) / 2
            if self._is_decided_by_more(middle):
                large_enough = middle
            else:
                too_small = middle
        return math.ceil((large_enough - 1) * len(self.attempts))

    def _is_decided_by_more(self, factor: float) -> bool:
        low, high = difference_interval(*(rate.scaled(factor) for rate in self._rates))
        return low > 0 or high < 0

    @cached_property
    def _rates(self) -> tuple[ClusteredRate, ClusteredRate]:
        shown_rate, held_out = (_weighted_rate(self._group(is_held_out=is_held_out)) for is_held_out in (False, True))
        return shown_rate, held_out

    def _group(self, *, is_held_out: bool) -> list[AssignedAttempt]:
        return [attempt for attempt in self.attempts if attempt.is_held_out == is_held_out]


def randomised_effect(attempts: Sequence[AssignedAttempt]) -> RandomisedEffect | None:
    """Return the effect among randomly assigned attempts, or None if all are in the same group."""
    groups = {attempt.is_held_out for attempt in attempts}
    return RandomisedEffect(attempts=tuple(attempts)) if len(groups) == 2 else None


def randomised_attempts(experience: ChromaExperienceMemory) -> list[AssignedAttempt]:
    """Return the randomly assigned attempts with a known outcome, including merged attempts."""
    return [attempt for attempt in _iterate_randomised(experience) if 0 < attempt.share < 1]


def _iterate_randomised(experience: ChromaExperienceMemory) -> Iterator[AssignedAttempt]:
    """Yield the assigned attempts with a known outcome: stored ones, then those merged into others."""
    where = {ARM: {"$in": [HELD_OUT, SHOWN]}}
    columns = [experience.column(key, where) for key in (ARM, "outcome", SHARE, "task_id", "title")]
    for record_id, arm in columns[0].items():
        outcome, share, task_id, title = (column.get(record_id, "") for column in columns[1:])
        if outcome != "unknown":
            yield _parse_attempt(task_id or title, outcome, arm, share)
    for experience_after_merge, attempt in merged_experiences(experience):
        if attempt.get(ARM) in (HELD_OUT, SHOWN) and attempt["outcome"] != "unknown":
            yield _parse_attempt(
                experience_after_merge.task.id or title_of(experience_after_merge.task),
                attempt["outcome"],
                attempt[ARM],
                attempt.get(SHARE, ""),
            )


def _parse_attempt(task: str, outcome: str, arm: str, share: object) -> AssignedAttempt:
    return AssignedAttempt(
        task=task, success=outcome == "succeeded", is_held_out=arm == HELD_OUT, share=_parse_share(share)
    )


def _parse_share(value: object) -> float:
    """Return a share from metadata, which is untrusted. 0 if it is invalid."""
    try:
        return float(str(value))
    except ValueError:
        return 0.0


def _weighted_rate(attempts: Sequence[AssignedAttempt]) -> ClusteredRate:
    return clustered_rate(
        [attempt.success for attempt in attempts],
        [attempt.task for attempt in attempts],
        [attempt.weight for attempt in attempts],
    )


def _count_tries(attempts: Sequence[AssignedAttempt]) -> Tries:
    return Tries(n=len(attempts), n_succeeded=sum(attempt.success for attempt in attempts))
