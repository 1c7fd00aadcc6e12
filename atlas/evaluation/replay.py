"""Replay of attempts in order of time: each task is queried before its attempt is stored."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby

from atlas.core.errors import AtlasError
from atlas.core.hits import MemoryQueryResult
from atlas.core.settings import Settings
from atlas.core.types import Trajectory
from atlas.evaluation.metrics import SAME, JudgedRanking
from atlas.memory.context.block import BUDGET_TOKENS, TokenCounter, build_context
from atlas.memory.open import open_memory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import WholeEmbedder

MEMORIES = ("experience", "concepts", "strategies")
K = 5
"""Number of hits of each memory that count, the default of `query`."""

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
SourceIds = dict[str, dict[str, set[str]]]
"""Ids of each record's source trajectories, keyed by memory and record."""

ATTEMPT_INTERVAL = timedelta(minutes=1)
"""Time between attempts whose own times are unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedAttempt:
    """The result of searching for an attempt's task before the attempt was stored."""

    trajectory: Trajectory
    rank: int | None
    """Best rank, counted from 1, of a record of the same task in any memory, or None if no memory returned one."""

    source_ids: frozenset[str]
    """Ids of the hits' source trajectories."""

    outcomes: tuple[bool, ...]
    """Known outcomes of the experiences that were retrieved."""

    n_before: int
    """Number of earlier attempts."""

    n_same: int
    """Number of earlier attempts at the same task."""

    contents: tuple[JudgedRanking, ...]
    """Grades of all records of each memory, to compute metrics under a random order."""

    is_verbatim: bool
    """True if an earlier attempt at the same task has the same text."""

    base_rate: float | None
    """Share of successes among all earlier attempts, or None if no outcome was known."""

    n_tokens: int


@dataclass(slots=True)
class ReplayClock:
    """A clock that is set to the time of the replayed attempt."""

    at: datetime = EPOCH

    def now(self) -> datetime:
        """Return the time of the attempt that is being replayed."""
        return self.at


def group_by_time(trajectories: Sequence[Trajectory]) -> tuple[list[list[Trajectory]], bool]:
    """Return attempts grouped by equal time, oldest first, and whether all times are known.

    If a time is missing, the attempts keep their order, each in its own group.
    """
    if not all(trajectory.timestamp for trajectory in trajectories):
        return [[trajectory] for trajectory in trajectories], False
    ordered = sorted(trajectories, key=_instant)
    return [list(group) for _, group in groupby(ordered, key=_instant)], True


def first_attempts(groups: Sequence[Sequence[Trajectory]], limit: int) -> Iterator[list[Trajectory]]:
    """Yield the groups of attempts, cut after the first `limit` attempts."""
    for group in groups:
        if limit <= 0:
            return
        yield list(group[:limit])
        limit -= len(group)


def replay(
    memory: MemorySystem,
    groups: Sequence[Sequence[Trajectory]],
    clock: ReplayClock,
    *,
    counter: TokenCounter,
    budget_tokens: int = BUDGET_TOKENS,
) -> Iterator[ReplayedAttempt]:
    """Search for each attempt's task, then store the attempt, and yield the result of the search.

    Args:
        groups: Attempts as `group_by_time` returns them. All tasks of a group are searched for before any is stored.
    """
    stored: list[Trajectory] = []
    sources: SourceIds = {}
    for group in groups:
        clock.at = group[0].timestamp or clock.at + ATTEMPT_INTERVAL
        for trajectory in group:
            yield _replay_attempt(memory, trajectory, stored, sources, counter, budget_tokens)
        for trajectory in group:
            # No agent used the hits.
            metadata = {**trajectory.metadata, "used": []}
            ids = memory.store(replace(trajectory, metadata=metadata, timestamp=clock.at))
            for name in set(MEMORIES).intersection(ids):
                sources.setdefault(name, {}).setdefault(ids[name], set()).add(trajectory.id)
            stored.append(trajectory)


def _replay_attempt(
    memory: MemorySystem,
    trajectory: Trajectory,
    stored: Sequence[Trajectory],
    sources_by_memory: SourceIds,
    counter: TokenCounter,
    budget: int,
) -> ReplayedAttempt:
    """Search for an attempt's task in the memory of all earlier attempts, and return the result."""
    result = memory.query_sync(trajectory.task, K)
    if result.errors:
        raise AtlasError(f"the replay stopped at {trajectory.task.id!r}: {'; '.join(result.errors.values())}")
    source_ids = _source_ids(result)
    same_task = {earlier.id for earlier in stored if task_identity(earlier) == task_identity(trajectory)}
    ranked_sources = chain.from_iterable(enumerate(hits, start=1) for hits in source_ids)
    ranks = [rank for rank, ids in ranked_sources if same_task.intersection(ids)]
    outcomes = [earlier.outcome.success for earlier in stored if earlier.outcome.success is not None]
    return ReplayedAttempt(
        trajectory=trajectory,
        rank=min(ranks, default=None),
        source_ids=frozenset(chain.from_iterable(chain.from_iterable(source_ids))),
        outcomes=tuple(hit.item.success for hit in result.experience_hits if hit.item.success is not None),
        n_before=len(stored),
        n_same=len(same_task),
        contents=tuple(
            _as_unordered_ranking([not same_task.isdisjoint(ids) for ids in records.values()])
            for records in sources_by_memory.values()
        ),
        is_verbatim=any(earlier.id in same_task and _words(earlier) == _words(trajectory) for earlier in stored),
        base_rate=sum(outcomes) / len(outcomes) if outcomes else None,
        n_tokens=build_context(result, counter, budget).n_tokens,
    )


def _as_unordered_ranking(is_same: Sequence[bool]) -> JudgedRanking:
    """Return records without an order, to compute metrics under a random one."""
    return JudgedRanking(retrieved=(), grades=(SAME,) * sum(is_same), n_records=len(is_same))


def _source_ids(result: MemoryQueryResult) -> list[list[tuple[str, ...]]]:
    """Return the ids of the attempts that each hit comes from: a list for each memory, in the order of its hits."""
    return [
        [(hit.item.trajectory_id,) for hit in result.experience_hits],
        [hit.item.found_in for hit in result.concept_hits],
        [hit.item.sources for hit in result.strategy_hits],
    ]


@contextmanager
def temporary_memory(
    memories: frozenset[str], embedder: WholeEmbedder, settings: Settings
) -> Iterator[tuple[MemorySystem, ReplayClock]]:
    """Yield a memory system in a temporary store, with only the named memories, and its clock."""
    exact_settings = replace(settings, read_only=False, exact_max_rows=sys.maxsize)
    clock = ReplayClock()
    with (
        tempfile.TemporaryDirectory(prefix="atlas-ablate-") as directory,
        open_memory(directory, embedder=embedder, settings=exact_settings, clock=clock) as system,
    ):
        memory = MemorySystem(
            system.experience if "experience" in memories else None,
            system.concepts if "concepts" in memories else None,
            system.strategies if "strategies" in memories else None,
            storage=system.storage,
        )
        yield memory, clock


def _instant(trajectory: Trajectory) -> datetime:
    assert trajectory.timestamp is not None
    return trajectory.timestamp.astimezone(UTC)


def _words(trajectory: Trajectory) -> list[str]:
    return trajectory.task.description.split()


def task_identity(trajectory: Trajectory) -> str:
    """Return the id of an attempt's task, or its description if it has no id."""
    return trajectory.task.id or trajectory.task.description
