"""The two stores under comparison, filled alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from atlas.core.settings import Settings
from atlas.core.types import Vectors
from atlas.storage.store import EmbeddingModel, Store
from benchmarks.measuring import DIMENSION

BATCH = 1_000


def filled_store(directory: Path, vectors: Vectors) -> Store:
    """Return a store of ours with these vectors, its index caught up."""
    store = Store.open(directory, settings=Settings())
    store.bind(EmbeddingModel("benchmark", DIMENSION))
    collection = store.collection("atlas_experiences").within("import")
    for start in range(0, len(vectors), BATCH):
        part = vectors[start : start + BATCH]
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
    for start in range(0, len(vectors), BATCH):
        part = vectors[start : start + BATCH]
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
