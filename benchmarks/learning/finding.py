"""Search for the concept that a task's solution uses: learned from half of the tasks, and looked for by the others."""

from __future__ import annotations

import asyncio
import math
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import atlas
from atlas.core.types import CodeConcept, Trajectory
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from atlas.learning.extraction import programs_of
from atlas.learning.reuse import reuse
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.strategies import ProvenCompression
from atlas.primitives.arc.loader import ARCPrimitiveLoader
from atlas.primitives.swe.loader import SWEPrimitiveLoader
from benchmarks.compressing import solved_attempts
from benchmarks.measuring import Figure

SEEDS = int(os.environ.get("ATLAS_BENCHMARK_SEEDS", "4"))
"""ATLAS_BENCHMARK_SEEDS: number of splits into halves."""

RANKS = (1, 5)
N_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A task of the unseen half, the concepts that its rewritten solution calls, and those that a search found."""

    task_id: str
    used: frozenset[str]
    """Ids, at least one."""

    found: tuple[str, ...]
    """Ids, best first, at most `max(RANKS)`."""

    n_concepts: int
    """Number of concepts in the library."""

    def is_hit(self, k: int) -> bool:
        """Return whether a used concept is among the first k."""
        return not self.used.isdisjoint(self.found[:k])

    def chance(self, k: int) -> float:
        """Return the probability that a used concept is among k concepts that are drawn at random."""
        misses = math.comb(self.n_concepts - len(self.used), min(k, self.n_concepts))
        return 1 - misses / math.comb(self.n_concepts, min(k, self.n_concepts))


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRate:
    """The share of searches that find a used concept, beside chance. All are in percent."""

    hits: float
    chance: float
    low: float
    """Lower end of the 95% interval of `hits` − `chance`, by resampling tasks."""

    high: float


def figures() -> Iterator[Figure]:
    """Yield hit@1 and hit@5 beside chance over all splits, in the learned libraries alone and beside primitives.

    The given programs give some ten concepts a half, so the primitives make a library of a usual size.
    """
    attempts = solved_attempts()
    if not attempts:
        print("no real programs: set ATLAS_REAL_DATA to the directory of real agent runs", file=sys.stderr)
        return
    splits = [learned_from_half(attempts, seed) for seed in range(SEEDS)]
    primitives = [*ARCPrimitiveLoader().load().values(), *SWEPrimitiveLoader().load().values()]
    yield from _figures("learned", [each for split in splits for each in searches(split)])
    yield from _figures("and primitives", [each for split in splits for each in searches(split, primitives)])


def _figures(library: str, all_searches: Sequence[Search]) -> Iterator[Figure]:
    if not all_searches:
        print("no task of an unseen half uses a concept", file=sys.stderr)
        return
    what = f"{library}, {len(all_searches)} searches"
    n_concepts = min(each.n_concepts for each in all_searches)
    yield Figure(what=f"{what}: concepts, in the smallest library", ours=n_concepts, baseline=None, unit="", aim="40")
    for k in RANKS:
        rate = hit_rate(all_searches, k)
        yield Figure(what=f"{what}: hit@{k}, beside chance", ours=rate.hits, baseline=rate.chance, unit="%", aim="")
        heading = f"{what}: hit@{k} above chance"
        yield Figure(what=f"{heading}, low end", ours=rate.low, baseline=None, unit="%", aim="above 0")
        yield Figure(what=f"{heading}, high end", ours=rate.high, baseline=None, unit="%", aim="")


def hit_rate(all_searches: Sequence[Search], k: int) -> HitRate:
    """Return the hit rate at rank k. Searches of one task in several splits are resampled together."""
    tasks = sorted({each.task_id for each in all_searches})
    rows = {task: row for row, task in enumerate(tasks)}
    sums = np.zeros((len(tasks), 3))
    for each in all_searches:
        sums[rows[each.task_id]] += (each.is_hit(k), each.chance(k), 1)
    drawn = np.random.default_rng(0).integers(0, len(tasks), (N_RESAMPLES, len(tasks)))
    resampled = sums[drawn].sum(axis=1)
    low, high = np.quantile((resampled[:, 0] - resampled[:, 1]) / resampled[:, 2], (0.025, 0.975))
    hits, chance = 100 * sums[:, :2].sum(axis=0) / len(all_searches)
    return HitRate(hits=hits, chance=chance, low=100 * low, high=100 * high)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedHalf:
    """Concepts learned from half of the tasks, and the tasks of the other half whose solutions use them."""

    concepts: tuple[CodeConcept, ...]
    used: Mapping[str, frozenset[str]]
    """Ids of the concepts that the rewritten solution of a task calls, by task. At least one each."""

    descriptions: Mapping[str, str]
    """By task."""


def learned_from_half(attempts: Sequence[Trajectory], seed: int) -> LearnedHalf:
    """Learn concepts from one half of the tasks, and rewrite the solutions of the other half with them."""
    split = halves(attempts, seed)
    proposal = asyncio.run(ProvenCompression().propose(split.learned_from))
    compression = proposal.compression
    concepts = {
        function.name: learned.concept
        for function, learned in zip(compression.abstractions, proposal.learned, strict=False)  # workflows come after
    }
    programs = programs_of(split.unseen).programs
    with Sandbox() as sandbox:
        rewritten = reuse(compression.library, programs, sandbox=sandbox).rewritten
    return LearnedHalf(
        concepts=tuple(concepts.values()),
        used={
            program.task_id: frozenset(concepts[name].id for name in rewritten[program.id].functions)
            for program in programs
            if program.id in rewritten
        },
        descriptions={program.task_id: program.description for program in programs},
    )


def searches(half: LearnedHalf, others: Sequence[CodeConcept] = ()) -> list[Search]:
    """Search the learned and other concepts with the description of each unseen task that uses a learned one."""
    library = [*half.concepts, *others]
    found = _found(library, [half.descriptions[task] for task in half.used])
    return [
        Search(task_id=task, used=ids, found=result, n_concepts=len(library))
        for (task, ids), result in zip(half.used.items(), found, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """Attempts in two halves without a task in common."""

    learned_from: list[Trajectory]
    unseen: list[Trajectory]


def halves(attempts: Sequence[Trajectory], seed: int) -> Halves:
    """Return attempts by halves of their tasks, as `evaluate_held_out` splits them."""
    tasks = sorted({attempt.task.id for attempt in attempts})
    random.Random(seed).shuffle(tasks)
    first = set(tasks[: (len(tasks) + 1) // 2])
    return Halves(
        learned_from=[attempt for attempt in attempts if attempt.task.id in first],
        unseen=[attempt for attempt in attempts if attempt.task.id not in first],
    )


def _found(concepts: Sequence[CodeConcept], queries: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the ids of the concepts that a memory finds for each query, best first."""
    embedder = SentenceTransformerEmbedder(BUNDLED)
    with tempfile.TemporaryDirectory() as directory, atlas.open_memory(Path(directory), embedder=embedder) as memory:
        memory.concepts.add_many(concepts)
        return [tuple(each.id for each in memory.concepts.search(query, max(RANKS))) for query in queries]
