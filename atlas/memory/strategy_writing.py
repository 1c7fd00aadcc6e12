"""Deciding what strategies attempts become: new ones, or more sources of those that are there.

Pure: from what an abstractor made of the attempts to a plan that shows what would be written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from atlas.core.types import Strategy, Vectors
from atlas.memory.marking import joined
from atlas.storage.history import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyWritePlan:
    """What writing strategies from attempts would do; applying it does exactly this, or nothing."""

    added: tuple[Strategy, ...]
    joined: tuple[Strategy, ...]
    """Strategies that are there, as they would be: with more sources."""

    n_attempts: int
    """Successful attempts that were looked at."""

    n_known: int
    """Those of them that strategies have as sources already."""

    n_nothing: int
    """Those in which the abstractor found nothing to reuse."""

    problems: tuple[str, ...]
    """Why others could not be abstracted."""

    spent: str = ""
    """What asking a language model took, for people; empty where none was asked that tells."""

    held: frozenset[str]
    """The strategies that were there."""

    moment: Moment
    """The point in the store's history that the plan holds for."""

    @property
    def n_joined_sources(self) -> int:
        """Attempts that say what another one, or a strategy that is there, says too."""
        return self.n_attempts - self.n_known - self.n_nothing - len(self.problems) - len(self.added)


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstracted:
    """A strategy that an attempt became, and the one that is there for its situation."""

    strategy: Strategy
    vector: Vectors
    """Of what is embedded, shape (dim,), of unit length."""

    near: str
    """The id of a strategy of the bank that says when to apply it alike; empty where there is none."""


def grouped(
    abstracted: Sequence[Abstracted], held: Mapping[str, Strategy], same_situation: float
) -> tuple[tuple[Strategy, ...], tuple[Strategy, ...]]:
    """Strategies to add, and those to change, each with the sources of all that are of its situation.

    Args:
        held: The strategies of the bank that are near to one of them, by id.
        same_situation: Cosine from which two situations count as one.
    """
    added: list[Strategy] = []
    vectors: list[Vectors] = []
    changed: dict[str, Strategy] = {}
    for one in abstracted:
        if one.near:
            changed[one.near] = with_sources(changed.get(one.near, held[one.near]), one.strategy)
            continue
        nearest = int(np.argmax(np.stack(vectors) @ one.vector)) if vectors else 0
        if vectors and float(vectors[nearest] @ one.vector) >= same_situation:
            added[nearest] = with_sources(added[nearest], one.strategy)
        else:
            added.append(one.strategy)
            vectors.append(one.vector)
    return tuple(added), tuple(one for one in changed.values() if one != held[one.id])


def with_sources(strategy: Strategy, other: Strategy) -> Strategy:
    """A strategy that has another one's sources too."""
    return replace(strategy, sources=joined(strategy.sources, other.sources))
