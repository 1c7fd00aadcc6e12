"""Indexes in services beside the one on disk: how fast each follows the ledger, and answers what it alone is asked.

The ChromaDB server runs on this machine, so its figures are without a network. Pinecone's are those of its SDK and of
our own stand-in, which compares every vector: they measure our side only, not Pinecone.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from atlas.core.settings import Settings
from atlas.core.types import Vectors
from atlas.storage.following_index import FollowingIndex
from atlas.storage.store import EmbeddingModel, Store
from benchmarks.measuring import DIMENSION, Figure, clustered_vectors
from tests.support.storage import chroma_server, pinecone_server

N_ROWS = 20_000
N_QUERIES = 200
K = 20
COLLECTION = "atlas_experiences"


def figures() -> Iterator[Figure]:
    """Yield the rates of each service, with those of the index on disk as the baseline."""
    vectors, queries = clustered_vectors(N_ROWS, seed=1), clustered_vectors(N_QUERIES, seed=2)
    os.environ.setdefault("PINECONE_API_KEY", pinecone_server.KEY)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        chroma = stack.enter_context(chroma_server.running(scratch / "server"))
        pinecone = stack.enter_context(pinecone_server.serving(DIMENSION))
        followed, asked = _measured(scratch / "disk", "", vectors, queries)
        for name, address in (("a ChromaDB server", chroma.address), ("Pinecone's stand-in", pinecone.address)):
            rate, seconds = _measured(scratch / name, address, vectors, queries)
            what = f"vectors a second, followed by {name}, at {N_ROWS:,} rows"
            yield Figure(what=what, ours=rate, baseline=followed, unit="/s", aim="")
            what = f"query k={K} of {name} alone, at {N_ROWS:,} rows"
            yield Figure(what=what, ours=seconds * 1e3, baseline=asked * 1e3, unit="ms", aim="")


def _measured(directory: Path, address: str, vectors: Vectors, queries: Vectors) -> tuple[float, float]:
    """Return how many vectors a second an index follows, and the median seconds of a query of it."""
    settings = Settings(index=address, exact_max_rows=100, index_lag_rows=10**9)
    with Store.open(directory, settings=settings) as store:
        store.bind(EmbeddingModel("benchmark", DIMENSION))
        collection = store.collection(COLLECTION).as_operation("import")
        ids = [f"r{number}" for number in range(len(vectors))]
        collection.add(ids, list(vectors), [{} for _ in ids], [f"text {one}" for one in ids])
        start = time.perf_counter()
        store.catch_up()
        rate = len(vectors) / (time.perf_counter() - start)
        index = store.collection(COLLECTION).parts.nearest.index
        assert index is not None
        assert index.count() == len(vectors)
        return rate, float(np.median([_seconds(index, query) for query in queries]))


def _seconds(index: FollowingIndex, query: Vectors) -> float:
    start = time.perf_counter()
    index.query(query, K)
    return time.perf_counter() - start
