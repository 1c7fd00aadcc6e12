"""Costs of reading long texts whole, beside what the model reads of them at once: time, size and search."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import atlas
from atlas.core.settings import Settings
from atlas.core.types import Vectors
from atlas.embedding.chunking import best_passage, encode_documents
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from atlas.storage.store import EmbeddingModel, Store
from atlas.testing import HashEmbedder
from benchmarks.measuring import DIMENSION, WORDS, Figure, clustered_vectors, interleaved

N_EMBEDDED = {300: 24, 1_000: 8, 5_000: 2}
"""How many texts of how many words are embedded."""

N_SIZED = 60
WINDOW_WORDS = 213
"""So many of these words are what MiniLM reads at once, so that a made-up embedder cuts as it does."""

N_SEARCHED = 2_000
N_VECTORS = 10
COLLECTION = "atlas_experiences"


def figures() -> Iterator[Figure]:
    embedder = SentenceTransformerEmbedder(BUNDLED)
    embedder.encode_batch(_texts(8, 200))
    for n_words, n_texts in N_EMBEDDED.items():
        yield _embedding(embedder, _texts(n_texts, n_words), n_words)
    for n_words in N_EMBEDDED:
        yield _size(n_words)
    yield _search()
    yield _passage(embedder)


def _embedding(embedder: SentenceTransformerEmbedder, texts: list[str], n_words: int) -> Figure:
    ours = len(texts) / _seconds(lambda: encode_documents(embedder, texts))
    cut_off = len(texts) / _seconds(lambda: embedder.encode_batch(texts))
    n_windows = len(embedder.windows(texts[0]))
    what = f"embedding texts of {n_words:,} words ({n_windows} windows), beside their first 256 word pieces"
    return Figure(what=what, ours=ours, baseline=cut_off, unit="/s", aim="")


def _size(n_words: int) -> Figure:
    ours, cut_off = (_bytes_each(_texts(N_SIZED, n_words), window_words) for window_words in (WINDOW_WORDS, None))
    what = f"store directory for each text of {n_words:,} words, beside one vector each"
    return Figure(what=what, ours=ours / 1e3, baseline=cut_off / 1e3, unit="kB", aim="")


def _bytes_each(texts: list[str], window_words: int | None) -> float:
    embedder = HashEmbedder(DIMENSION, window_words=window_words)
    attempts = [
        atlas.Trajectory(atlas.Task(f"t{i}", "", text), (), atlas.Outcome(True)) for i, text in enumerate(texts)
    ]
    with tempfile.TemporaryDirectory() as scratch:
        with atlas.open_memory(Path(scratch) / "store", embedder=embedder, settings=Settings()) as memory:
            memory.experience.store_many(attempts)
        return sum(file.stat().st_size for file in Path(scratch).rglob("*") if file.is_file()) / len(texts)


def _search() -> Figure:
    vectors = clustered_vectors(N_SEARCHED * N_VECTORS, seed=5).reshape(N_SEARCHED, N_VECTORS, DIMENSION)
    queries = clustered_vectors(60, seed=6)
    with tempfile.TemporaryDirectory() as scratch:
        long, short = (_filled(Path(scratch) / str(n), vectors[:, :n]) for n in (N_VECTORS, 1))
        with long, short:
            ours, baseline = interleaved(_queries(long, queries), _queries(short, queries))
    what = f"`query` of {N_SEARCHED:,} records with {N_VECTORS} vectors each, beside one vector each"
    return Figure(what=what, ours=ours * 1e3, baseline=baseline * 1e3, unit="ms", aim="")


def _filled(directory: Path, vectors: Vectors) -> Store:
    store = Store.open(directory, settings=Settings())
    store.bind(EmbeddingModel("benchmark", DIMENSION))
    ids = [str(number) for number in range(len(vectors))]
    store.collection(COLLECTION).add(ids, list(vectors), [{} for _ in ids], ids)
    return store


def _queries(store: Store, queries: Vectors) -> list[Callable[[], object]]:
    return [lambda query=query: store.collection(COLLECTION).query(query, 10) for query in queries]  # type: ignore[misc]


def _passage(embedder: SentenceTransformerEmbedder) -> Figure:
    (text,) = _texts(1, 5_000)
    vectors = np.zeros((1 + len(embedder.windows(text)), DIMENSION), np.float32)
    took = min(_seconds(lambda: best_passage(embedder, text, vectors, vectors[0])) for _ in range(5))
    what = "telling which passage of a text of 5,000 words matched"
    return Figure(what=what, ours=took * 1e3, baseline=None, unit="ms", aim="")


def _texts(n: int, n_words: int) -> list[str]:
    generator = np.random.default_rng(n_words)
    return [f"{number}: " + " ".join(generator.choice(WORDS, n_words)) for number in range(n)]


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
