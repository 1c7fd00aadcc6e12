"""Ablation: the contribution of each memory, measured by replaying attempts without some of them.

Each attempt's task is queried before the attempt is stored, so only earlier attempts can be found. Outcomes are taken
from the attempts, so an ablation measures retrieval, not its effect on an agent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.core.statistics import Estimate, Values, estimates
from atlas.core.types import Trajectory
from atlas.embedding.cached import CachedEmbedder
from atlas.evaluation.metrics import expected_hit
from atlas.evaluation.replay import (
    MEMORIES,
    K,
    ReplayedAttempt,
    first_attempts,
    group_by_time,
    replay,
    task_identity,
    temporary_memory,
)
from atlas.memory.context.block import BUDGET_TOKENS, make_counter
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Embedder, Progress

CONFIGURATIONS: Mapping[str, frozenset[str]] = {
    "full": frozenset(MEMORIES),
    **{f"{name}-only": frozenset({name}) for name in MEMORIES},
    **{f"no-{name}": frozenset(MEMORIES) - {name} for name in MEMORIES},
    "no-memory": frozenset(),
}
"""Memories of each configuration, keyed by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationRow:
    """The figures of one configuration of the memories."""

    name: str
    memories: tuple[str, ...]
    hit_1: Estimate | None
    """Share of the repeated attempts for which some memory's first hit is from the same task.

    None if no task was tried twice.
    """

    hit_k: Estimate | None
    """Share of the repeated attempts for which some memory's first `K` hits include one from the same task."""

    chance_1: float
    """Expected `hit_1` if each memory returned its records in random order. With several memories, one hit suffices.

    0 if no task was tried twice.
    """

    chance_k: float

    agreement: Estimate | None
    """Mean share of the retrieved outcomes that equal the attempt's own outcome.

    None if no outcome was retrieved. Strategies come only from successes, so they are not counted.
    """

    n_foretold: int
    """Number of attempts with a known outcome for which an outcome was retrieved."""

    base_agreement: float | None
    """Mean share of the outcomes of all earlier attempts that equal the attempt's own, as the baseline."""

    tokens: Estimate
    """Number of tokens of the context block."""

    n_shown: int
    """Number of attempts with a context block that is not empty."""

    n_held: Mapping[str, int]
    """Number of records in each memory at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """The figures of all configurations after a replay of the same attempts."""

    model: str
    """The embedding model."""

    counted_with: str
    """Name of the tokenizer."""

    n_attempts: int
    n_tasks: int
    n_repeated: int
    """Number of attempts at a task with an earlier attempt."""

    n_verbatim: int
    """Number of repeated attempts with identical text, which do not test the search by meaning."""

    success_rate: float | None
    """Share of successes among the known outcomes, or None if all are unknown."""

    is_timed: bool
    """True if all attempts have a time. If not, they were replayed in the order of the input."""

    budget_tokens: int
    k: int
    seed: int
    rows: tuple[AblationRow, ...]


def ablate(
    trajectories: Sequence[Trajectory],
    embedder: Embedder,
    *,
    configurations: Sequence[str] = tuple(CONFIGURATIONS),
    settings: Settings,
    budget_tokens: int = BUDGET_TOKENS,
    seed: int = 0,
    limit: int | None = None,
    on_progress: Progress | None = None,
) -> Ablation:
    """Replay attempts into a temporary memory system for each configuration, and return the figures of each.

    Args:
        trajectories: The attempts.
        embedder: Embedding model of all stores.
        configurations: Names in `CONFIGURATIONS`.
        settings: Settings of the stores, except for the directory, which is ignored.
        budget_tokens: Largest number of tokens of the context block.
        seed: Seed of the intervals.
        limit: Number of attempts to replay, the earliest ones. By default all.
        on_progress: Called after each attempt in each configuration.

    Raises:
        InvalidInput: There is no attempt, or a configuration is unknown.
    """
    names = _distinct_names(configurations)
    groups, is_timed = group_by_time(trajectories)
    groups = list(first_attempts(groups, limit)) if limit is not None else groups
    trajectories = [trajectory for group in groups for trajectory in group]
    if not groups:
        raise InvalidInput("expected at least one attempt to replay, got none; give files with attempts")
    cached_embedder, counter = CachedEmbedder(embedder), make_counter(embedder)
    rows: list[AblationRow] = []
    for name in names:
        replayed: list[ReplayedAttempt] = []
        with temporary_memory(CONFIGURATIONS[name], cached_embedder, settings) as (memory, clock):
            for attempt in replay(memory, groups, clock, counter=counter, budget_tokens=budget_tokens):
                replayed.append(attempt)
                if on_progress:
                    on_progress(len(rows) * len(trajectories) + len(replayed), len(names) * len(trajectories))
            rows.append(_make_row(name, replayed, _count_records(memory), seed))
    outcomes = [trajectory.outcome.success for trajectory in trajectories if trajectory.outcome.success is not None]
    tasks = [task_identity(trajectory) for trajectory in trajectories]
    return Ablation(
        model=cached_embedder.model_name,
        counted_with=counter.name,
        n_attempts=len(trajectories),
        n_tasks=len(set(tasks)),
        n_repeated=sum(attempt.n_same > 0 for attempt in replayed),
        n_verbatim=sum(attempt.is_verbatim for attempt in replayed),
        success_rate=sum(outcomes) / len(outcomes) if outcomes else None,
        is_timed=is_timed,
        budget_tokens=budget_tokens,
        k=K,
        seed=seed,
        rows=tuple(rows),
    )


def _make_row(name: str, replayed: Sequence[ReplayedAttempt], n_records: Mapping[str, int], seed: int) -> AblationRow:
    """Return the figures of one configuration from the attempts that were replayed with it."""
    repeated = [attempt for attempt in replayed if attempt.n_same]
    predicted = [attempt for attempt in replayed if attempt.outcomes and attempt.trajectory.outcome.success is not None]
    base_agreements = [
        _probability_of_outcome(attempt, [attempt.base_rate]) for attempt in predicted if attempt.base_rate is not None
    ]
    tokens = _estimate_column([[float(attempt.n_tokens)] for attempt in replayed], replayed, seed)
    hit_rates = _estimate_columns(
        [[float(attempt.rank == 1), float(attempt.rank is not None)] for attempt in repeated], repeated, seed
    )
    agreement = _estimate_columns(
        [[_probability_of_outcome(attempt, attempt.outcomes)] for attempt in predicted], predicted, seed
    )
    return AblationRow(
        name=name,
        memories=tuple(memory for memory in MEMORIES if memory in CONFIGURATIONS[name]),
        hit_1=hit_rates[0] if hit_rates else None,
        hit_k=hit_rates[1] if hit_rates else None,
        chance_1=_hit_rate_by_chance(repeated, 1),
        chance_k=_hit_rate_by_chance(repeated, K),
        agreement=agreement[0] if agreement else None,
        n_foretold=len(predicted),
        base_agreement=sum(base_agreements) / len(base_agreements) if base_agreements else None,
        tokens=tokens,
        n_shown=sum(attempt.n_tokens > 0 for attempt in replayed),
        n_held=dict(n_records),
    )


def _hit_rate_by_chance(replayed: Sequence[ReplayedAttempt], k: int) -> float:
    """Return the mean probability that k random records from each memory include a record of the attempt's task."""
    miss_rates = [math.prod(1.0 - expected_hit(ranking, k) for ranking in attempt.contents) for attempt in replayed]
    return 1.0 - sum(miss_rates) / len(miss_rates) if miss_rates else 0.0


def _probability_of_outcome(attempt: ReplayedAttempt, probabilities: Sequence[float]) -> float:
    """Return the probability of an attempt's actual outcome if it succeeds with the mean of these probabilities."""
    mean = sum(probabilities) / len(probabilities)
    return mean if attempt.trajectory.outcome.success else 1.0 - mean


def _estimate_columns(rows: list[list[float]], attempts: Sequence[ReplayedAttempt], seed: int) -> list[Estimate]:
    """Return the mean of each column, with its bootstrap interval over tasks. Empty if there are no rows.

    Args:
        rows: One row for each attempt.
    """
    if not rows:
        return []
    table: Values = np.array(rows, np.float64)
    return estimates(table, [task_identity(attempt.trajectory) for attempt in attempts], seed=seed)


def _estimate_column(rows: list[list[float]], attempts: Sequence[ReplayedAttempt], seed: int) -> Estimate:
    """Return the mean of a single column, with its bootstrap interval over tasks."""
    return _estimate_columns(rows, attempts, seed)[0]


def _distinct_names(configurations: Sequence[str]) -> list[str]:
    """Return the configurations to replay, each once. Without names, all of them.

    Raises:
        InvalidInput: There is no configuration of a name.
    """
    for name in configurations:
        if name not in CONFIGURATIONS:
            raise InvalidInput(f"expected one of {', '.join(CONFIGURATIONS)} as a configuration, got {name!r}")
    return list(dict.fromkeys(configurations)) or list(CONFIGURATIONS)


def _count_records(memory: MemorySystem) -> dict[str, int]:
    """Return the number of records in each memory that can be counted, keyed by name."""
    memories = {
        "experience": memory.experience_memory,
        "concepts": memory.concept_library,
        "strategies": memory.strategy_bank,
    }
    return {name: len(records) for name, records in memories.items() if isinstance(records, Sized)}
