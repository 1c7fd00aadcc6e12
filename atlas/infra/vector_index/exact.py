"""Exact nearest neighbours in memory: one matrix, one product. The reference for every other index."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from atlas.core.types import Vector, Vectors


class ExactIndex:
    """Vectors in one growing float32 matrix; removed rows are reused."""

    def __init__(self, dimension: int) -> None:
        self._matrix: Vectors = np.zeros((0, dimension), np.float32)
        self._keys: list[str] = []
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._lock = threading.RLock()

    def upsert(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Hold these vectors under these keys, in place of what the keys held."""
        with self._lock:
            rows = [self._row(key) for key in keys]
            self._grow()
            if rows:
                self._matrix[rows] = vectors

    def remove(self, keys: Sequence[str]) -> None:
        """Forget these keys; unknown ones are ignored."""
        with self._lock:
            for key in keys:
                row = self._rows.pop(key, None)
                if row is not None:
                    self._keys[row] = ""
                    self._free.append(row)

    def query(self, vector: Vector, k: int, among: Sequence[str] | None = None) -> list[tuple[str, float]]:
        """At most k keys with their similarity, highest first; only `among` these keys where they are given."""
        with self._lock:
            if among is not None:
                rows = np.array([self._rows[key] for key in among if key in self._rows], np.intp)
                similarities = self._matrix[rows] @ vector
            else:
                rows = None
                similarities = self._matrix[: len(self._keys)] @ vector
                similarities[self._free] = -np.inf
            best = top(similarities, k if among is not None else min(k, len(self._rows)))
            positions = best if rows is None else rows[best]
            return [(self._keys[row], float(similarities[i])) for row, i in zip(positions, best, strict=True)]

    def count(self) -> int:
        """How many keys it holds."""
        return len(self._rows)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._matrix = self._matrix[:0].copy()
            self._keys, self._rows, self._free = [], {}, []

    def _row(self, key: str) -> int:
        row = self._rows.get(key)
        if row is None:
            if self._free:
                row = self._free.pop()
                self._keys[row] = key
            else:
                row = len(self._keys)
                self._keys.append(key)
            self._rows[key] = row
        return row

    def _grow(self) -> None:
        n_rows, dimension = self._matrix.shape
        if len(self._keys) > n_rows:
            larger = np.zeros((max(2 * n_rows, len(self._keys), 256), dimension), np.float32)
            larger[:n_rows] = self._matrix
            self._matrix = larger


def top(values: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.intp]:
    """Positions of the k highest values, highest first; equal values in their order."""
    if k <= 0 or not len(values):
        return np.zeros(0, np.intp)
    if k < len(values):
        candidates = np.argpartition(values, -k)[-k:]
        kept = np.flatnonzero(values >= values[candidates].min())
    else:
        kept = np.arange(len(values))
    return kept[np.argsort(-values[kept], kind="stable")][:k]
