"""Experience memories over every kind of store, and attempts to put into them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from atlas.core.filters import matches, parse_where
from atlas.core.hits import QueryResult
from atlas.core.operations import Operation
from atlas.core.types import Step, Task, Trajectory
from atlas.memory.experience.memory import COLLECTION, ChromaExperienceMemory
from atlas.storage.store import EmbeddingModel, Store
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore
from tests.support import records

NOW = FixedClock().now()


class DictVectorStore:
    """A vector store as a user writes one for a test: the five methods of the specification, and nothing else.

    Like chromadb, it refuses to be asked for no record.
    """

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}

    async def add(self, ids, embeddings, metadatas, documents):
        for record_id, embedding, metadata, document in zip(ids, embeddings, metadatas, documents, strict=True):
            assert all(isinstance(number, float) for number in embedding)
            row = {"id": record_id, "embedding": embedding, "metadata": metadata, "document": document}
            self.rows[record_id] = row

    async def query(self, embedding, k, where=None):
        passing = [row for row in self.rows.values() if matches(parse_where(where), row["metadata"])]
        best = sorted(passing, key=lambda row: -_dot(row["embedding"], embedding))[:k]
        return QueryResult(
            ids=[row["id"] for row in best],
            distances=[1 - _dot(row["embedding"], embedding) for row in best],
            metadatas=[row["metadata"] for row in best],
            documents=[row["document"] for row in best],
        )

    async def delete(self, ids):
        assert ids
        for record_id in ids:
            self.rows.pop(record_id, None)

    async def get(self, ids):
        assert ids
        return [self.rows[record_id] for record_id in ids if record_id in self.rows]

    async def count(self):
        return len(self.rows)


def _dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


@contextmanager
def memory_over(kind: str, directory: Path, **options: Any) -> Iterator[ChromaExperienceMemory]:
    embedder = options.pop("embedder", None) or HashEmbedder()
    options.setdefault("clock", FixedClock())
    if kind != "ledger":
        plain = MemoryVectorStore() if kind == "memory" else DictVectorStore()
        yield ChromaExperienceMemory(embedder, plain, **options)
        return
    store = Store.open(directory / "store", clock=options["clock"])
    store.bind(EmbeddingModel(embedder.model_name, embedder.dimension))
    yield ChromaExperienceMemory(embedder, store.collection(COLLECTION), **options)
    store.ledger.close()


def taken_back(memory: ChromaExperienceMemory, operation_id: str) -> Operation:
    """Undo an operation of a memory over a real store."""
    parts = memory.collection.parts  # type: ignore[attr-defined]
    return parts.ledger.history.undo(operation_id, actor="t")


def naming(trajectory: Trajectory, *ids: str) -> Trajectory:
    """The attempt, of which the first thought names the ids of what it uses."""
    thought = Step(thought=f"as {' and '.join(ids)} say")
    return replace(trajectory, steps=(thought, *trajectory.steps))


def attempt(
    description: str, success: bool | None = True, *, age_days: float = 0, solution: str = "did it", **metadata: Any
) -> Trajectory:
    """An attempt that ended so long ago."""
    return records.attempt(
        description,
        success,
        task_id=f"task of {description}",
        domain="field",
        steps=(Step(action="act", observation="see"),),
        agent="agent",
        at=ago(age_days),
        solution=solution,
        **metadata,
    )


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def task(description: str) -> Task:
    return Task("t", "", description)
