"""What the benchmarks share: rows of the table, timing, and inputs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from atlas.core.types import Vectors

DIMENSION = 384
WORDS = np.array(
    """
    cancel reservation flight refund certificate passenger write function sort list return index test failing import
    error database query slow page render button colour grid rotate deploy pipeline secret token parse json file upload
    retry timeout cache user login report chart median group column schema migrate rename
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure beside its baseline."""

    what: str
    ours: float
    baseline: float | None
    """None where the figure stands alone."""

    unit: str
    aim: str
    """What it should be, in words; empty where there is no aim."""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.baseline if self.baseline else None


def median_seconds(calls: Sequence[Callable[[], object]]) -> float:
    """The median time of calls, after one unmeasured call."""
    calls[0]()
    times = []
    for call in calls:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def interleaved(ours: Sequence[Callable[[], object]], theirs: Sequence[Callable[[], object]]) -> tuple[float, float]:
    """The median times of two lists of calls, taken in turns so that noise falls on both alike."""
    ours[0](), theirs[0]()
    times: tuple[list[float], list[float]] = ([], [])
    for pair in zip(ours, theirs, strict=True):
        for call, kept in zip(pair, times, strict=True):
            start = time.perf_counter()
            call()
            kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def clustered_vectors(n: int, *, seed: int, n_clusters: int = 200, spread: float = 0.6) -> Vectors:
    """Unit vectors in clusters of unequal size, as embeddings of tasks are; shape (n, 384)."""
    centres = np.random.default_rng(0).normal(size=(n_clusters, DIMENSION))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    generator = np.random.default_rng(seed)
    noise = generator.normal(size=(n, DIMENSION)) / np.sqrt(DIMENSION) * spread * 2
    sizes = generator.zipf(1.5, size=n) % n_clusters
    vectors = (centres[sizes] + noise).astype(np.float32)
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def task_texts(n: int, *, seed: int = 0) -> list[str]:
    """Distinct task descriptions of 10 to 60 words."""
    generator = np.random.default_rng(seed)
    return [f"{number}: " + " ".join(generator.choice(WORDS, size=generator.integers(10, 60))) for number in range(n)]
