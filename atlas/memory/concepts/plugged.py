"""Checks of plugged-in strategies and of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept, Trajectory
from atlas.learning.composition import PipelineCompositionStrategy, find_nothing
from atlas.learning.model_composition import LLMCompositionStrategy
from atlas.protocols.strategies import CompositionStrategy


def check_plugged(protocol: type, plugged: object, name: str, method: str) -> None:
    """Raise `InvalidInput` unless a plugged-in object is None or has the given method."""
    if plugged is not None and not isinstance(plugged, protocol):
        raise InvalidInput(f"expected an object with `{method}`, or None, for {name}, got {plugged!r:.80}")


def with_default_lookup(
    strategy: CompositionStrategy | None, find: Callable[[str], CodeConcept | None]
) -> CompositionStrategy | None:
    """Return a composition strategy that looks up concepts with `find`, unless it has a lookup of its own."""
    looks_up = PipelineCompositionStrategy | LLMCompositionStrategy
    if isinstance(strategy, looks_up) and strategy.find is find_nothing:
        strategy = copy(strategy)
        strategy.find = find
    return strategy


def select_successes(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Return the successful attempts, or raise `InvalidInput` if an item is not an attempt."""
    attempts: list[Trajectory] = [trajectories] if isinstance(trajectories, Trajectory) else list(trajectories)
    for attempt in attempts:
        if not isinstance(attempt, Trajectory):
            raise InvalidInput(f"expected Trajectory objects, got {attempt!r:.80}; construct an atlas.Trajectory")
    return [attempt for attempt in attempts if attempt.outcome.success is True]
