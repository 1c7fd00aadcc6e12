"""Search without embedding, beside a raw ChromaDB query on the same rows, with recall, filters and memory."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from atlas.core.types import Vectors
from atlas.protocols.infra import Where
from atlas.storage.store import Store
from benchmarks.measuring import Figure, clustered_vectors, exact_neighbours, filled_chroma, filled_store, interleaved

N_QUERIES = 100
K = 10
FILTER = {"bucket": 7}
"""A filter that 5% pass."""


def figures(sizes: tuple[int, ...] = (10_000, 50_000, 100_000)) -> Iterator[Figure]:
    for n_rows in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            vectors = clustered_vectors(n_rows, seed=1)
            queries = clustered_vectors(N_QUERIES, seed=2)
            with filled_store(Path(scratch) / "atlas", vectors) as store:
                chroma = filled_chroma(Path(scratch) / "chroma", vectors)
                store.collection("atlas_experiences").parts.nearest.exact.load()  # as a process does that asks often
                yield from _speed(store, chroma, queries, n_rows, where=None, aim="ratio ≤ 1.0")
                yield _recall(store, chroma, vectors, queries, n_rows)
                if n_rows == 50_000:
                    yield from _speed(store, chroma, queries, n_rows, where=FILTER, aim="ratio ≤ 0.1")


def _speed(
    store: Store, chroma: Any, queries: Vectors, n_rows: int, *, where: Where | None, aim: str
) -> Iterator[Figure]:
    ours = [_call(lambda q: store.collection("atlas_experiences").query(q, K, where), query) for query in queries]
    theirs = [_call(lambda q: chroma.query(query_embeddings=q[None], n_results=K, where=where), q) for q in queries]
    filtered = ", with a filter that 5% pass" if where else ""
    for clock, name in ((time.perf_counter, ""), (time.process_time, ", processor time")):
        mine, raw = interleaved(ours, theirs, clock)
        what = f"query k={K} at {n_rows:,} rows{filtered}{name}"
        yield Figure(what=what, ours=mine * 1e3, baseline=raw * 1e3, unit="ms", aim=aim)


def _recall(store: Store, chroma: Any, vectors: Vectors, queries: Vectors, n_rows: int) -> Figure:
    ours, theirs = [], []
    for query in queries:
        true = exact_neighbours(vectors, query, K)
        ours.append(len(true & set(store.collection("atlas_experiences").query(query, K).ids)) / K)
        theirs.append(len(true & set(chroma.query(query_embeddings=query[None], n_results=K)["ids"][0])) / K)
    return Figure(
        what=f"recall@{K} at {n_rows:,} rows",
        ours=float(np.mean(ours)),
        baseline=float(np.mean(theirs)),
        unit="",
        aim="≥ 0.99",
    )


def _call(function: Callable[[Any], object], argument: Any) -> Callable[[], object]:
    return lambda: function(argument)
