"""Every vector store of ours behind one interface, with vectors to put into them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from atlas.core.hits import QueryResult
from atlas.core.settings import Settings
from atlas.infra.bridge import run
from atlas.storage.store import EmbeddingModel, Store
from atlas.testing import MemoryVectorStore

DIMENSION = 8
COLLECTION = "things"


class StoreUnderTest:
    """A vector store whose methods are waited for, and whose index, if it has one, follows when told to."""

    def __init__(self, vector_store: Any, store: Store | None = None) -> None:
        self.vector_store = vector_store
        self.store = store

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.vector_store, name)
        return lambda *args, **kwargs: run(method(*args, **kwargs))

    def follow(self) -> None:
        """Hand everything written so far to the index on disk, if there is one."""
        if self.store is not None and self.store.settings.exact_max_rows < 100:
            self.store.catch_up()

    def put(self, **metadatas: dict[str, Any]) -> None:
        """Add records that differ in their metadata; the vectors are axes, in the order given."""
        ids = list(metadatas)
        self.add(ids, [axis(i) for i in range(len(ids))], list(metadatas.values()), [f"document {i}" for i in ids])

    def ids(self, where: Any = None) -> list[str]:
        """The ids that pass a filter, in the order they were added."""
        return [row["id"] for row in self.scan(where)]


STORES = ["memory", "ledger", "ledger with index", "ledger in PostgreSQL"]


@contextmanager
def make_store(kind: str, directory: Path, address: str = "") -> Iterator[StoreUnderTest]:
    """One of the `STORES`; that with an index asks it from the fourth record on."""
    if kind == "memory":
        yield StoreUnderTest(MemoryVectorStore())
        return
    settings = Settings(exact_max_rows=3, index_lag_rows=1_000) if kind == "ledger with index" else Settings()
    opened = Store.open(address or directory / "store", settings=settings)
    opened.bind(EmbeddingModel("test", DIMENSION))
    yield StoreUnderTest(opened.vector_store(COLLECTION), opened)
    opened.collection(COLLECTION).parts.nearest.close()
    opened.ledger.close()


def axis(i: int, *, length: float = 1.0) -> np.ndarray:
    """A vector along one axis, the next one for the next number."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[i % DIMENSION] = length
    return vector


def near(i: int, j: int, share: float) -> np.ndarray:
    """A unit vector between two axes whose cosine with the first is `share`."""
    vector: np.ndarray = share * axis(i) + np.float32(np.sqrt(1 - share**2)) * axis(j)
    return vector


def similarities(found: QueryResult) -> Sequence[float]:
    return [round(1 - distance, 4) for distance in found.distances]
