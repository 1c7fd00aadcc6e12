"""Ingestion beside the model's own `encode`, single writes beside ChromaDB's `add`, usage beside a JSON file."""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import atlas
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder, bundled_weights
from atlas.storage.store import EmbeddingModel, Store
from benchmarks.measuring import (
    DIMENSION,
    Figure,
    clustered_vectors,
    filled_chroma,
    filled_store,
    interleaved,
    task_texts,
)

N_TEXTS = 1_000
N_SINGLE = 100
N_CLOSED = 50


def figures() -> Iterator[Figure]:
    yield from _ingestion()
    yield _single_store()
    yield _closing()


def _ingestion() -> Iterator[Figure]:
    """Embed the same texts in the same batches on both sides. Ours also stores them durably."""
    from sentence_transformers import SentenceTransformer

    embedder = SentenceTransformerEmbedder(BUNDLED)
    embedder.encode_batch(task_texts(64, seed=9))
    model = SentenceTransformer(str(bundled_weights()), device="cpu")
    model.encode(task_texts(64, seed=9))
    texts = task_texts(N_TEXTS)
    attempts = [
        atlas.Trajectory(atlas.Task(f"t{i}", "", text), (atlas.Step("", "print(1)", "1"),), atlas.Outcome(i % 3 > 0))
        for i, text in enumerate(texts)
    ]
    raw, ours, closing = 0.0, 0.0, 0.0
    with tempfile.TemporaryDirectory() as scratch:
        memory = atlas.open_memory(Path(scratch), embedder=embedder)
        for start in range(0, N_TEXTS, 250):  # in turns, so that noise falls on both alike
            raw += _seconds(partial(model.encode, texts[start : start + 250]))
            ours += _seconds(partial(memory.experience.store_many, attempts[start : start + 250]))
        closing = _seconds(memory.close)
    yield Figure(
        what=f"ingestion of {N_TEXTS:,} attempts, beside `SentenceTransformer.encode` alone (texts a second)",
        ours=N_TEXTS / ours,
        baseline=N_TEXTS / raw,
        unit="/s",
        aim="ratio ≥ 1.5",
    )
    yield Figure(
        what="the same, with closing the store",
        ours=N_TEXTS / (ours + closing),
        baseline=N_TEXTS / raw,
        unit="/s",
        aim="",
    )


def _single_store() -> Figure:
    vectors = clustered_vectors(2_000 + N_SINGLE, seed=3)
    with tempfile.TemporaryDirectory() as scratch, filled_store(Path(scratch) / "atlas", vectors[:2_000]) as store:
        chroma = filled_chroma(Path(scratch) / "chroma", vectors[:2_000])
        ours = [
            lambda i=i: store.collection("atlas_experiences").add(
                [f"{i}-{time.time_ns()}"], [vectors[i]], [{"n": i}], ["a task"]
            )
            for i in range(2_000, 2_000 + N_SINGLE)
        ]
        theirs = [
            lambda i=i: chroma.add(
                ids=[f"{i}-{time.time_ns()}"], embeddings=vectors[i][None], metadatas=[{"n": i}], documents=["a task"]
            )
            for i in range(2_000, 2_000 + N_SINGLE)
        ]
        mine, raw = interleaved(ours, theirs)
    return Figure(what="one durable `add`", ours=mine * 1e3, baseline=raw * 1e3, unit="ms", aim="ratio ≤ 0.6")


def _closing() -> Figure:
    """Beside a commit of one row to a SQLite file, as closing waits for the disk too."""
    vectors = clustered_vectors(N_CLOSED, seed=5)
    with tempfile.TemporaryDirectory() as scratch, closing(sqlite3.connect(Path(scratch) / "plain.sqlite")) as plain:
        plain.execute("PRAGMA synchronous = FULL")
        plain.execute("CREATE TABLE numbers (n)")
        ours, theirs = [], []
        for i in range(N_CLOSED):
            with Store.open(Path(scratch) / "atlas") as store:
                store.bind(EmbeddingModel("benchmark", DIMENSION))
                store.collection("atlas_experiences").add([f"r{i}"], [vectors[i]], [{"n": i}], ["a task"])
                ours.append(_seconds(store.close))
            plain.execute("INSERT INTO numbers VALUES (?)", (i,))
            theirs.append(_seconds(plain.commit))
    return Figure(
        what="closing a small store that was written, beside one commit of SQLite",
        ours=statistics.median(ours) * 1e3,
        baseline=statistics.median(theirs) * 1e3,
        unit="ms",
        aim="≤ 5 ms",
    )


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
