"""Deciding what strategies attempts become: new ones, or more sources of those that are there.

From what an abstractor made of the attempts to a plan that shows what would be written; nothing is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from atlas.core.types import Strategy, Vectors
from atlas.memory.base.marks import joined
from atlas.storage.records import Moment

MOST_VARIANTS = 5
"""Other suggestions that a strategy keeps."""

Combine = Callable[[Strategy, Strategy], Strategy | None]
"""Makes one of a strategy and another for an alike situation; None where they are two."""


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

    retired: tuple[str, ...] = ()
    """The ids of those in `joined` that are retired, and stay so: agents are not given them."""

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
    abstracted: Sequence[Abstracted], held: Mapping[str, Strategy], same_situation: float, combine: Combine
) -> tuple[tuple[Strategy, ...], tuple[Strategy, ...]]:
    """Strategies to add, and those to change, each with the sources of all that are of its situation.

    Args:
        held: The strategies of the bank that are near to one of them, by id.
        same_situation: Cosine from which two situations may be one.
        combine: Says whether they are.
    """
    added: list[Strategy] = []
    vectors: list[Vectors] = []
    changed: dict[str, Strategy] = {}
    for one in abstracted:
        if one.near:
            together = combine(changed.get(one.near, held[one.near]), one.strategy)
            if together is not None:
                changed[one.near] = together
                continue
        nearest = int(np.argmax(np.stack(vectors) @ one.vector)) if vectors else 0
        if vectors and float(vectors[nearest] @ one.vector) >= same_situation:
            together = combine(added[nearest], one.strategy)
            if together is not None:
                added[nearest] = together
                continue
        added.append(one.strategy)
        vectors.append(one.vector)
    return tuple(added), tuple(one for one in changed.values() if one != held[one.id])


def with_sources(strategy: Strategy, other: Strategy) -> Strategy:
    """A strategy that has another one's sources too, and keeps what that says to do as one of its `variants`."""
    metadata = dict(strategy.metadata)
    if not says_the_same(strategy, other):
        metadata["variants"] = [*_variants(strategy), {"suggestion": other.suggestion, "sources": list(other.sources)}]
    return replace(strategy, sources=joined(strategy.sources, other.sources), metadata=metadata)


def says_the_same(strategy: Strategy, other: Strategy) -> bool:
    """Whether a strategy, or one of its variants, says to do the same as another, but for spaces."""
    variants = [str(one.get("suggestion", "")) for one in _variants(strategy) if isinstance(one, Mapping)]
    if len(variants) >= MOST_VARIANTS:
        return True
    return other.suggestion.split() in [said.split() for said in (strategy.suggestion, *variants)]


def _variants(strategy: Strategy) -> list[Any]:
    held = strategy.metadata.get("variants", [])
    return list(held) if isinstance(held, (list, tuple)) else [held]  # others may have written it
