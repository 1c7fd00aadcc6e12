"""Exact nearest neighbours in memory, compared row by row. The reference for every other index."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from atlas.core.types import Vector, Vectors

Groups = npt.NDArray[np.int64]
"""Shape (n,)."""


class ExactIndex:
    """Vectors in one growing float32 matrix. Removed rows are reused."""

    def __init__(self, dimension: int) -> None:
        self._matrix: Vectors = np.zeros((0, dimension), np.float32)
        self._groups: Groups = np.zeros(0, np.int64)
        self._keys: list[str] = []
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._lock = threading.RLock()

    def upsert(self, keys: Sequence[str], vectors: Vectors, groups: Sequence[int] | None = None) -> None:
        """Insert vectors, replacing vectors of the same keys.

        Args:
            groups: A positive number for each vector, by which `query` can filter.
        """
        with self._lock:
            rows = [self._get_or_add_row(key) for key in keys]
            self._grow()
            if rows:
                self._matrix[rows] = vectors
                self._groups[rows] = 0 if groups is None else groups

    def remove(self, keys: Sequence[str]) -> None:
        """Remove vectors by key, ignoring unknown keys."""
        with self._lock:
            for key in keys:
                row = self._rows.pop(key, None)
                if row is not None:
                    self._keys[row] = ""
                    self._free.append(row)

    def query(self, vector: Vector, k: int, *, groups: Groups | None = None) -> list[tuple[str, float]]:
        """Return at most k keys with their similarity, highest first. Only of these groups, if they are given."""
        with self._lock:
            rows = None if groups is None else self._select_rows(groups)
            similarities = self._similarities(vector, rows)
            best = top(similarities, k)
            positions = best if rows is None else rows[best]
            hits = zip(positions.tolist(), similarities[best].tolist(), strict=True)
            return [(self._keys[row], similarity) for row, similarity in hits if self._keys[row]]

    def count(self) -> int:
        """Return the number of keys."""
        return len(self._rows)

    def clear(self) -> None:
        """Delete all vectors."""
        with self._lock:
            self._matrix, self._groups = self._matrix[:0].copy(), self._groups[:0].copy()
            self._keys, self._rows, self._free = [], {}, []

    def _similarities(self, vector: Vector, rows: Groups | None) -> Vector:
        if rows is not None:
            return products(self._matrix[rows], vector)
        similarities = products(self._matrix[: len(self._keys)], vector)
        similarities[self._free] = -np.inf
        return similarities

    def _select_rows(self, groups: Groups) -> Groups:
        own_groups = self._groups[: len(self._keys)]
        is_selected = np.zeros(max(own_groups.max(initial=0), groups.max(initial=0)) + 1, bool)
        is_selected[groups] = True
        is_kept = is_selected[own_groups]
        is_kept[self._free] = False
        return np.flatnonzero(is_kept)

    def _get_or_add_row(self, key: str) -> int:
        """Return the row of a key. A new key gets a free row, or one after the last."""
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
            n_new_rows = max(2 * n_rows, len(self._keys), 256)
            matrix, groups = np.zeros((n_new_rows, dimension), np.float32), np.zeros(n_new_rows, np.int64)
            matrix[:n_rows], groups[:n_rows] = self._matrix, self._groups
            self._matrix, self._groups = matrix, groups


def top(values: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.intp]:
    """Return positions of the k highest values, highest first. Ties are in the order of positions."""
    if k <= 0 or not len(values):
        return np.zeros(0, np.intp)
    if k < len(values):
        candidates = np.argpartition(values, -k)[-k:]
        positions = np.flatnonzero(values >= values[candidates].min())
    else:
        positions = np.arange(len(values))
    return positions[np.argsort(-values[positions], kind="stable")][:k]


def products(vectors: Vectors, vector: Vector) -> Vector:
    """Return the dot products of rows with one vector, computed in this thread.

    BLAS would parallelise it over all cores. As it is memory-bound, that gains little, and costs CPU time if other
    processes are busy: at 3,000 rows 4 ms instead of 0.2.
    """
    similarities: Vector = np.einsum("ij,j->i", vectors, vector)
    return similarities
