"""`retrieve` and its parts at growing sizes, without and with a filter, beside raw ChromaDB on the same vectors."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import atlas
from atlas.core.exchange import ExportedExperience
from atlas.core.operations import NO_MARKS, NO_USAGE
from atlas.core.types import Experience, Vector, Vectors
from atlas.embedding.chunking import mean_direction
from atlas.embedding.foreign_queries import calibration_queries
from atlas.embedding.late_interaction import TokenVectors, distinct_pieces
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from atlas.memory.experience.memory import COLLECTION
from atlas.protocols.infra import Where
from benchmarks.measuring import DIMENSION, WORDS, Figure, clustered_vectors, filled_chroma, interleaved_seconds
from benchmarks.memories import MODEL, START, Texts

SIZES = (3_000, 10_000, 30_000, 100_000)
K = 10
N_TOPICS = 300
N_QUERIES, N_WARM = 40, 20
"""Queries that are timed, and others before them, as counts of common words are kept."""

QUERY_WORDS, DOCUMENT_WORDS, SOLUTION_WORDS = 20, 90, 60
BATCH = 1_000
LARGEST_WEIGHED = 30_000
"""Records up to which a second store is filled, to see how much larger the first one is."""

N_BUCKETS, N_LOTS = 20, 200
FILTER = {"bucket": 7}
"""A filter that 5% pass."""

NARROW_FILTER = {"lot": 7}
"""A filter that 0.5% pass."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question with the vector that an embedder would give it."""

    text: str
    vector: Vector


class FixedVectors:
    """An embedder with precomputed vectors. Those of their words are random."""

    model_name = MODEL
    dimension = DIMENSION

    def __init__(self, queries: Sequence[Query]) -> None:
        self._queries = {query.text: query.vector for query in queries}
        self._vectors: dict[str, Vector] = {}
        self._words: dict[str, tuple[int, Vector]] = {}
        self._generator = np.random.default_rng(5)
        self.query_tokens = cache(self._tokens)

    def tell(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Tell it the vectors of the texts that come next."""
        self._vectors = dict(zip(texts, vectors, strict=True))

    def encode(self, text: str) -> Vector:
        """Return the precomputed vector, or else that of its words, as for a first sentence."""
        if text in self._queries:
            return self._queries[text]
        return self._vectors[text] if text in self._vectors else mean_direction(self._tokens(text).vectors)

    def encode_batch(self, texts: list[str]) -> Vectors:
        """Return the precomputed vectors."""
        return np.stack([self.encode(text) for text in texts])

    def encode_with_tokens(self, texts: list[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Return the precomputed vectors, and those of each text's words."""
        return self.encode_batch(texts), [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> TokenVectors:
        numbered_words = [self._word(word) for word in text.split()]
        return distinct_pieces(
            np.array([number for number, _ in numbered_words]), np.stack([vector for _, vector in numbered_words])
        )

    def _word(self, word: str) -> tuple[int, Vector]:
        if word not in self._words:
            self._words[word] = len(self._words), self._generator.standard_normal(DIMENSION).astype(np.float32)
        return self._words[word]


def figures(sizes: tuple[int, ...] = SIZES) -> Iterator[Figure]:
    queries = made_queries(N_WARM + N_QUERIES)
    embedder = FixedVectors([*queries, *foreign_queries()])
    yield from _embedding(queries[:N_QUERIES])
    for n_records in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            vectors = clustered_vectors(n_records, seed=1)
            fill(Path(scratch) / "atlas", vectors, embedder)
            chroma = filled_chroma(Path(scratch) / "chroma", vectors)
            settings = atlas.Settings(store=Path(scratch) / "atlas")
            as_wholes = replace(settings, late_interaction=False)
            with (
                atlas.open_memory(settings.store, embedder=embedder, settings=settings) as memory,
                atlas.open_memory(settings.store, embedder=embedder, settings=as_wholes) as without,
            ):
                yield from _compared(memory, chroma, queries, n_records)
                yield from _word_pieces(memory, without, queries, n_records)
            if n_records <= LARGEST_WEIGHED:
                fill(Path(scratch) / "wholes", vectors, embedder, as_wholes)
                yield Figure(
                    what=f"size of a store of {n_records:,} records, beside one without word pieces",
                    ours=_megabytes(Path(scratch) / "atlas"),
                    baseline=_megabytes(Path(scratch) / "wholes"),
                    unit="MB",
                    aim="at most 2 times",
                )


def made_queries(n: int) -> list[Query]:
    """Return questions on the topics of the texts."""
    texts = Texts(N_TOPICS, seed=2).on(np.random.default_rng(2).integers(0, N_TOPICS, n), QUERY_WORDS)
    return [Query(text, vector) for text, vector in zip(texts, clustered_vectors(n, seed=2), strict=True)]


def foreign_queries() -> list[Query]:
    """Return the queries that a store's level is measured with, on made-up topics."""
    texts = calibration_queries()
    return [Query(text, vector) for text, vector in zip(texts, clustered_vectors(len(texts), seed=4), strict=True)]


def fill(
    place: Path | str, vectors: Vectors, embedder: FixedVectors, settings: atlas.Settings | None = None
) -> tuple[float, float]:
    """Fill a store with these vectors and with texts on topics, as long and with words as frequent as real ones.

    Returns:
        The seconds that it took to write them, without making them up, and to close the store.
    """
    texts, took = Texts(N_TOPICS, seed=1), 0.0
    with atlas.open_memory(place, embedder=embedder, settings=settings) as memory:
        importing = memory.experience.as_operation("import", "made for a measurement")
        for start in range(0, len(vectors), BATCH):
            part = vectors[start : start + BATCH]
            topics = np.random.default_rng(start).integers(0, N_TOPICS, len(part))
            documents = list(texts.on(topics, DOCUMENT_WORDS))
            embedder.tell(documents, part)
            rows = zip(documents, texts.on(topics, SOLUTION_WORDS), strict=True)
            attempts = [_attempt(start + i, *row) for i, row in enumerate(rows)]
            took += seconds(partial(importing.restore_many, attempts))
        return took, seconds(memory.close)


def _attempt(number: int, text: str, solution: str) -> ExportedExperience:
    experience = Experience(
        id=f"{number:032x}",
        task=atlas.Task(id=f"task-{number // 3}", domain="", description=text),
        trajectory_summary="1 step",
        outcome=atlas.Outcome(success=number % 3 > 0),
        embedding_text=text,
        created_at=START,
        metadata={"bucket": number % N_BUCKETS, "lot": number % N_LOTS},
        solution_output=solution,
    )
    return ExportedExperience(experience=experience, marks=NO_MARKS, usage=NO_USAGE)


def _embedding(queries: Sequence[Query]) -> Iterator[Figure]:
    embedder = SentenceTransformerEmbedder(BUNDLED)
    generator = np.random.default_rng(3)
    texts = [" ".join(generator.choice(WORDS, QUERY_WORDS)) for _ in queries]
    embedder.encode_query(texts[0])
    what = f"embedding a query of {QUERY_WORDS} words, which the rest leaves out"
    yield from _both(what, [seconds(lambda: embedder.encode_query(text)) for text in texts])  # noqa: B023 - called at once


def _compared(memory: atlas.MemorySystem, chroma: Any, queries: Sequence[Query], n_records: int) -> Iterator[Figure]:
    for where, filtered in ((None, ""), (FILTER, ", 5% pass")):
        at = f"at {n_records:,} records{filtered}"
        first = [seconds(lambda: retrieve(memory, queries[0], where))]  # noqa: B023 - called at once
        yield Figure(what=f"the first retrieve {at}", ours=first[0] * 1e3, baseline=None, unit="ms", aim="")
        for name, ask in (("retrieve", retrieve), ("by vector alone", _by_vector), ("by words alone", _by_words)):
            for query in queries[:N_WARM]:
                ask(memory, query, where)
            timed = queries[N_WARM:]
            ours = [partial(ask, memory, query, where) for query in timed]
            theirs = [partial(_raw, chroma, query, where) for query in timed]
            yield from _both(f"{name} k={K} {at}", *interleaved_seconds(ours, theirs))
            spent = interleaved_seconds(ours, theirs, time.process_time)
            yield from _both(f"{name} k={K} {at}, processor time", *spent)


def _word_pieces(
    memory: atlas.MemorySystem, without: atlas.MemorySystem, queries: Sequence[Query], n_records: int
) -> Iterator[Figure]:
    for query in queries:  # those of `memory` were kept by the measurements before
        retrieve(without, query, None)
    ours = [partial(retrieve, memory, query, None) for query in queries[N_WARM:]]
    theirs = [partial(retrieve, without, query, None) for query in queries[N_WARM:]]
    spent = interleaved_seconds(ours, theirs, time.process_time)
    yield from _both(f"retrieve at {n_records:,} records, beside without word pieces, processor time", *spent)


def _megabytes(store: Path) -> float:
    return sum(path.stat().st_size for path in store.rglob("*") if path.is_file()) / 2**20


def retrieve(memory: atlas.MemorySystem, query: Query, where: Where | None) -> None:
    memory.experience.retrieve(query.text, K, where=where, count_retrieval=False)


def _by_vector(memory: atlas.MemorySystem, query: Query, where: Where | None) -> None:
    memory.storage.collection(COLLECTION).query(query.vector, K, where)


def _by_words(memory: atlas.MemorySystem, query: Query, where: Where | None) -> None:
    memory.storage.collection(COLLECTION).search_text(query.text, K, where)


def _raw(chroma: Any, query: Query, where: Where | None) -> None:
    chroma.query(query_embeddings=query.vector[None], n_results=K, where=where)


def _both(what: str, ours: Sequence[float], theirs: Sequence[float] | None = None) -> Iterator[Figure]:
    """Yield the median and the 95th percentile, in milliseconds."""
    for name, percent in (("p50", 50), ("p95", 95)):
        baseline = None if theirs is None else float(np.percentile(theirs, percent)) * 1e3
        mine = float(np.percentile(ours, percent)) * 1e3
        yield Figure(what=f"{what}, {name}", ours=mine, baseline=baseline, unit="ms", aim="")


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
