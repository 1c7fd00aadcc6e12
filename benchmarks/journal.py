"""The journal beside Protea's own way to search: a scan in Python over all rows, by how many keywords each shares.

Latency is that of logs made long by repeating a real one, each time with other generations and names, under vectors
that are spread as a model's are but cost nothing to make: embedding takes the same for any number of entries. Recall is
how often a reflection finds the crash of its generation among the ten best of the whole log, others of its own
generation left out as they would be right in their way.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from atlas.core.settings import RankingWeights, Settings
from atlas.core.types import JournalEntry, Vector, Vectors, new_id
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.importers.formats.protea import read
from atlas.importers.rows import Limits
from atlas.memory.journal.memory import COLLECTION, Journal
from atlas.protocols.infra import WholeEmbedder
from atlas.storage.store import EmbeddingModel, Store
from benchmarks.measuring import DIMENSION, Figure, clustered_vectors, interleaved

DATA = Path(__file__).parents[2] / "shared" / "data" / "protea" / "protea_v1.sqlite"
N_QUERIES = 30
BATCH = 5_000

KEYWORDS = RankingWeights(meaning=0.0, words=1.0)
DENSE = RankingWeights(meaning=1.0, words=0.0)


class SequentialVectors:
    """An embedder that deals out vectors, one to each text that it has not seen."""

    model_name = "dealt"
    dimension = DIMENSION

    def __init__(self, n: int) -> None:
        self._vectors = clustered_vectors(n, seed=1)
        self._places: dict[str, int] = {}

    def encode(self, text: str) -> Vector:
        """Return the vector of one text."""
        vector: Vector = self.encode_batch([text])[0]
        return vector

    def encode_batch(self, texts: list[str]) -> Vectors:
        """Return the vectors of several texts."""
        return np.stack([self._vectors[self._places.setdefault(text, len(self._places))] for text in texts])


def figures(sizes: Sequence[int] = (1_000, 10_000, 100_000)) -> Iterator[Figure]:
    if not DATA.exists():
        raise SystemExit(f"{DATA} is not there; these figures need Protea's log")
    log = [row.item for row in read(DATA, Limits()) if isinstance(row.item, JournalEntry)]
    yield from _recall(log)
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            yield _latency(Path(scratch), log, size)


def _latency(scratch: Path, log: Sequence[JournalEntry], size: int) -> Figure:
    entries = [_varied(log[position % len(log)], position // len(log)) for position in range(size)]
    queries = [entry.content for entry in log if entry.entry_type == "reflection"][: N_QUERIES + 1]
    table = scratch / "protea.sqlite"
    with closing(sqlite3.connect(table)) as connection, connection:
        connection.execute("CREATE TABLE memory (id INTEGER PRIMARY KEY, content TEXT)")
        connection.executemany("INSERT INTO memory (content) VALUES (?)", [(entry.content,) for entry in entries])
    with Store.open(scratch / "store", settings=Settings()) as store:
        journal = _journal(store, SequentialVectors(size + len(queries)), entries)
        ours, theirs = interleaved(
            [_search(journal, query) for query in queries], [_scan(table, query) for query in queries]
        )
    return Figure(
        what=f"journal.search of {size:,} entries, beside a scan by keyword overlap (p50)",
        ours=ours * 1_000,
        baseline=theirs * 1_000,
        unit="ms",
        aim="less than the scan",
    )


def _recall(log: Sequence[JournalEntry]) -> Iterator[Figure]:
    crashes = {entry.generation: entry for entry in log if entry.entry_type == "crash_log"}
    reflections = [entry for entry in log if entry.entry_type == "reflection" and entry.generation in crashes]
    with tempfile.TemporaryDirectory() as scratch, Store.open(Path(scratch), settings=Settings()) as store:
        current_weights = [RankingWeights()]
        embedder = SentenceTransformerEmbedder("all-MiniLM-L6-v2", "cpu", 32)
        journal = _journal(store, embedder, log, lambda: current_weights[0])
        for name, weights in (("keywords", KEYWORDS), ("dense", DENSE), ("fused", RankingWeights())):
            current_weights[0] = weights
            hits = [_finds(journal, entry, crashes[entry.generation].id) for entry in reflections]
            yield Figure(
                what=f"recall@10 of the crash that a reflection is about, {name} (n = {len(reflections)})",
                ours=sum(hits) / len(hits),
                baseline=10 / len(log),
                unit="",
                aim="baseline is chance",
            )


def _finds(journal: Journal, reflection: JournalEntry, crash_id: str) -> bool:
    other = [{"generation": {"$lt": reflection.generation}}, {"generation": {"$gt": reflection.generation}}]
    where = {"$or": [*other, {"entry_type": "crash_log"}]}
    return crash_id in [entry.id for entry in journal.search(reflection.content, 10, where=where)]


def _journal(
    store: Store,
    embedder: WholeEmbedder,
    entries: Sequence[JournalEntry],
    weights: Callable[[], RankingWeights] | RankingWeights = RankingWeights(),
) -> Journal:
    store.bind(EmbeddingModel(embedder.model_name, embedder.dimension))
    journal = Journal(embedder, store.collection(COLLECTION), weights=weights)
    for start in range(0, len(entries), BATCH):
        journal.add_entries(entries[start : start + BATCH])
    return journal


def _varied(entry: JournalEntry, repetition: int) -> JournalEntry:
    """Return the entry as another agent might have written it: other names, other generations."""
    if not repetition:
        return entry
    content = re.sub(r"\b(\w+_\w+)\b", rf"\1_{repetition}", entry.content)
    return replace(entry, id=new_id(), content=content, generation=entry.generation + 1_000 * repetition, links=())


def _search(journal: Journal, query: str) -> Callable[[], object]:
    return lambda: journal.search(query, 10)


def _scan(table: Path, query: str) -> Callable[[], object]:
    """Return Protea's way: read every row, count the keywords that it shares, sort."""

    def scan() -> list[tuple[int, str]]:
        keywords = _keywords(query)
        with closing(sqlite3.connect(table)) as connection:
            rows = connection.execute("SELECT content FROM memory").fetchall()
        return sorted(((len(keywords & _keywords(text)), text) for (text,) in rows), reverse=True)[:10]

    return scan


def _keywords(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 2}
