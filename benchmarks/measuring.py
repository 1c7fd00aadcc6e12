"""Parts that the benchmarks share: rows of the table, timing, inputs, and the two stores under comparison."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from atlas.core.settings import Settings
from atlas.core.types import Outcome, Step, Task, Trajectory, Vectors
from atlas.storage.store import EmbeddingModel, Store

DIMENSION = 384
ROWS_ADDED = 1_000
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
    """The value it should have, in words. Empty if there is no aim."""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.baseline if self.baseline else None


Clock = Callable[[], float]
"""Seconds from some instant: of the day, or those that the processor has worked for this process."""


def interleaved(
    ours: Sequence[Callable[[], object]], theirs: Sequence[Callable[[], object]], clock: Clock = time.perf_counter
) -> tuple[float, float]:
    """Return the median times of two lists of calls, taken in turns so that noise falls on both alike."""
    own_times, baseline_times = interleaved_seconds(ours, theirs, clock)
    return statistics.median(own_times), statistics.median(baseline_times)


def interleaved_seconds(
    ours: Sequence[Callable[[], object]], theirs: Sequence[Callable[[], object]], clock: Clock = time.perf_counter
) -> tuple[list[float], list[float]]:
    """Return how long each of two lists of calls took, taken in turns after the first of each was made once."""
    ours[0](), theirs[0]()
    times: tuple[list[float], list[float]] = ([], [])
    for pair in zip(ours, theirs, strict=True):
        for call, series in zip(pair, times, strict=True):
            start = clock()
            call()
            series.append(clock() - start)
    return times


def clustered_vectors(n: int, *, seed: int, n_clusters: int = 300) -> Vectors:
    """Return unit vectors, shape (n, 384), that are spread as embeddings of texts are.

    Their variances fall off as those that all-MiniLM-L6-v2 gives on 3,015 texts of real agent runs (0.13, 0.055, 0.035,
    0.017, 0.0095, 0.0052, 0.0028, 0.0011 for the 1st, 2nd, 4th … 128th direction, about a mean of length 0.35), half of
    it between clusters. Without that fall-off all neighbours are about equally far, and no index finds them.
    """
    spread = np.sqrt(0.13 / np.arange(1, DIMENSION + 1) ** 1.05)
    centres = np.random.default_rng(0).normal(size=(n_clusters, DIMENSION)) * spread * np.sqrt(0.5)
    centres[:, 5] += 0.35
    generator = np.random.default_rng(seed)
    noise = generator.normal(size=(n, DIMENSION)) * spread * np.sqrt(0.5)
    vectors = (centres[generator.integers(0, n_clusters, n)] + noise).astype(np.float32)
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def solved(text: str) -> Trajectory:
    """Return a short attempt at a task that went well."""
    return Trajectory(Task(text[:20], "", text), (Step("", "print(1)", "1"),), Outcome(True))


def task_texts(n: int, *, seed: int = 0) -> list[str]:
    """Return distinct task descriptions of 10 to 60 words."""
    generator = np.random.default_rng(seed)
    return [f"{number}: " + " ".join(generator.choice(WORDS, size=generator.integers(10, 60))) for number in range(n)]


def filled_store(directory: Path, vectors: Vectors) -> Store:
    """Return a store of ours with these vectors, its index caught up."""
    store = Store.open(directory, settings=Settings())
    store.bind(EmbeddingModel("benchmark", DIMENSION))
    collection = store.collection("atlas_experiences").as_operation("import")
    for start in range(0, len(vectors), ROWS_ADDED):
        part = vectors[start : start + ROWS_ADDED]
        ids, metadatas, documents = _columns(start, len(part))
        collection.add(ids, list(part), metadatas, documents)
    store.catch_up()
    return store


def filled_chroma(directory: Path, vectors: Vectors) -> Any:
    """Return a ChromaDB collection with the same rows, as its documentation shows: cosine, else default settings."""
    import chromadb

    client = chromadb.PersistentClient(str(directory), settings=chromadb.config.Settings(anonymized_telemetry=False))
    collection = client.create_collection(
        "benchmark", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    for start in range(0, len(vectors), ROWS_ADDED):
        part = vectors[start : start + ROWS_ADDED]
        ids, metadatas, documents = _columns(start, len(part))
        collection.add(ids=ids, embeddings=part, metadatas=list(metadatas), documents=documents)
    return collection


def _columns(start: int, n: int) -> tuple[list[str], list[dict[str, Any]], list[str]]:
    numbers = range(start, start + n)
    metadatas = [
        {"outcome": "failed" if i % 3 == 0 else "succeeded", "bucket": i % 20, "created_at": f"2026-{i % 12 + 1:02}"}
        for i in numbers
    ]
    return [str(i) for i in numbers], metadatas, [f"task number {i}" for i in numbers]


def exact_neighbours(vectors: Vectors, query: np.ndarray, k: int) -> set[str]:
    """Return the ids of the true k nearest."""
    return {str(row) for row in np.argsort(-(vectors @ query))[:k]}
