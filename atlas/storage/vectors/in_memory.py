"""The vectors of records in memory. A record has a vector for each of its windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from atlas.core.types import Vector, Vectors
from atlas.storage.records import NO_TIP, Position, Seqs, VectorChange
from atlas.storage.vectors.exact import ExactIndex

Neighbours = list[tuple[int, float]]
"""Numbers of records with the similarity of their best window, highest first."""


class InMemory:
    """The vectors of the records that changed after a position."""

    def __init__(self, dimension: int) -> None:
        self.base = Position("", 0)
        self.seen = 0
        """The newest revision that was read."""

        self.tip = NO_TIP
        """The newest change of the ledger at its last read."""

        self._exact = ExactIndex(dimension)
        self._windows: dict[int, int] = {}

    def clear(self, base: Position) -> None:
        """Empty the index, and set its position."""
        self.base, self.seen = base, base.revision
        self._exact.clear()
        self._windows.clear()

    def apply(self, entries: Sequence[VectorChange]) -> None:
        """Apply changes, oldest first."""
        for entry in entries:
            self._exact.remove(keys_of(entry.seq, self._windows.get(entry.seq, 0)))
            self._windows[entry.seq] = len(entry.vectors)
        live = [entry for entry in entries if len(entry.vectors)]
        groups = [entry.seq for entry in live for _ in entry.vectors]
        self._exact.upsert(*keys_and_vectors(live), groups)
        self.seen = entries[-1].revision

    def covers(self, seq: int) -> bool:
        """Return whether the memory contains a record's vectors, or its deletion."""
        return seq in self._windows

    def query(self, vector: Vector, k: int, among: Seqs | None = None) -> Neighbours:
        """Return the k nearest records, among the records of these numbers if they are given."""
        n_hits = k
        while True:
            hits = self._exact.query(vector, n_hits, groups=among)
            neighbours = best(((owner(key), similarity) for key, similarity in hits), k)
            if len(neighbours) == k or len(hits) < n_hits:
                return neighbours
            n_hits *= 4


def keys_of(seq: int, n_windows: int, first: int = 0) -> list[str]:
    """Return the keys of a record's windows."""
    return [f"{seq}:{window}" for window in range(first, n_windows)]


def owner(key: str) -> int:
    """Return the record number in a key."""
    return int(key.partition(":")[0])


def keys_and_vectors(live: Sequence[VectorChange]) -> tuple[list[str], Vectors]:
    """Return the keys of the windows of records, and their vectors as rows."""
    names = [key for entry in live for key in keys_of(entry.seq, len(entry.vectors))]
    return names, np.concatenate([entry.vectors for entry in live]) if live else np.zeros((0, 1), np.float32)


def best(hits: Iterable[tuple[int, float]], k: int) -> Neighbours:
    """Return each record once, by its best window, the k highest first."""
    highest: dict[int, float] = {}
    for seq, similarity in hits:
        highest[seq] = max(similarity, highest.get(seq, -2.0))
    return sorted(highest.items(), key=lambda item: -item[1])[:k]
