"""Small stores with one collection of things, and what their directories hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from atlas.core.operations import Marks
from atlas.storage.store import EmbeddingModel, Store

DIMENSION = 8
MODEL = EmbeddingModel("test", DIMENSION)
THINGS = "things"
NOBODY = 65534


class Opened:
    """An open store with one collection, its methods waited for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        if not store.read_only:
            store.bind(MODEL)

    def add(self, *ids: str, **metadata: Any) -> str:
        """Add records in one operation; its id."""
        scoped = self.store.collection(THINGS).as_operation("store")
        vectors = [vector_of(record_id) for record_id in ids]
        scoped.add(list(ids), vectors, [dict(metadata) for _ in ids], [f"text of {i}" for i in ids])
        return str(scoped.operation_id)

    def edit(self, record_id: str, document: str, **metadata: Any) -> str:
        """Change a record to another text, whose vector it gets; the operation's id."""
        scoped = self.store.collection(THINGS).as_operation("edit")
        scoped.update([record_id], [vector_of(document)], [metadata], [document])
        return str(scoped.operation_id)

    def delete(self, *ids: str) -> str:
        """Delete records; the operation's id."""
        scoped = self.store.collection(THINGS).as_operation("delete")
        scoped.delete(list(ids))
        return str(scoped.operation_id)

    def mark(self, **marks: Marks) -> str:
        """Mark records; the operation's id."""
        scoped = self.store.collection(THINGS).as_operation("mark")
        scoped.mark(marks)
        return str(scoped.operation_id)

    def marks(self, record_id: str) -> Marks:
        return self.store.collection(THINGS).marks([record_id])[record_id]

    def ids(self, where: dict[str, Any] | None = None) -> list[str]:
        return [row["id"] for row in self.store.collection(THINGS).scan(where)]

    def nearest(self, record_id: str, k: int = 1) -> list[str]:
        """The ids nearest to the vector that belongs to an id."""
        return self.store.collection(THINGS).query(vector_of(record_id), k).ids

    def contents(self) -> dict[str, Any]:
        """Everything that is kept of every record, for comparing."""
        rows = self.store.collection(THINGS).get(self.ids())
        return {row["id"]: (row["document"], row["metadata"], row["embedding"].tobytes()) for row in rows}


@contextmanager
def without_privileges() -> Iterator[None]:
    """File permissions hold inside the block: for root they would not."""
    if os.getuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def vector_of(text: str) -> np.ndarray:
    """A unit vector that depends on a text alone."""
    vector = np.random.default_rng(list(text.encode()) or [0]).standard_normal(DIMENSION).astype(np.float32)
    unit: np.ndarray = vector / np.linalg.norm(vector)
    return unit


def files_in(path: Path) -> dict[str, bytes]:
    """Every file below a directory with its bytes, but for SQLite's -shm and -wal and for locks."""
    return {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.name.endswith(("-shm", "-wal", ".lock"))
    }
