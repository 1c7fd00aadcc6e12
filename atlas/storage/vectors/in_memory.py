"""The vectors of records in memory, compared row by row. A record has a vector for each of its windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from atlas.core.types import Vector, Vectors
from atlas.storage.records import NO_TIP, Position, Seqs, VectorChange

Neighbours = list[tuple[int, float]]
"""Numbers of records with the similarity of their best window, highest first."""

MIN_ROWS = 256
"""Minimum number of rows of a matrix that is not empty. A full matrix is doubled."""


class InMemoryVectors:
    """The vectors of records that changed after a position, in one growing matrix that reuses removed rows."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self.tip = NO_TIP
        """The newest change of the ledger at the last read."""

        self.clear(Position("", 0))

    def clear(self, base: Position) -> None:
        """Drop all vectors, and start again at a position."""
        self.base = base
        self.last_revision = base.revision
        """The newest revision that was read."""

        self._matrix: Vectors = np.zeros((0, self._dimension), np.float32)
        self._owners: Seqs = np.zeros(0, np.int64)
        """The record number of each row, 0 for a free row."""

        self._rows: dict[int, list[int]] = {}
        """The rows of each record, keyed by record number. Empty for a deleted record."""

        self._n_rows = 0
        """Number of rows that have been in use. Later rows are free too, but not in `_free`."""

        self._free: list[int] = []

    def apply(self, entries: Sequence[VectorChange]) -> None:
        """Apply changes, oldest first."""
        for entry in entries:
            self._free += self._rows.get(entry.seq, [])
        self._owners[self._free] = 0
        for entry in entries:
            self._rows[entry.seq] = [self._allocate_row() for _ in entry.vectors]
        self._grow()
        live = [entry for entry in entries if len(entry.vectors)]
        if live:
            rows = [row for entry in live for row in self._rows[entry.seq]]
            self._matrix[rows] = np.concatenate([entry.vectors for entry in live])
            self._owners[rows] = np.repeat([entry.seq for entry in live], [len(entry.vectors) for entry in live])
        self.last_revision = entries[-1].revision

    def covers(self, seq: int) -> bool:
        """Return whether a record has changed since the base position. Its current vectors are then in memory."""
        return seq in self._rows

    def query(self, vector: Vector, k: int, only_seqs: Seqs | None = None) -> Neighbours:
        """Return the k nearest records.

        Args:
            only_seqs: Numbers of the only records to compare, or None for all.
        """
        owners, similarities = self._compare(vector, only_seqs)
        n_windows = k
        while True:
            nearest = top_indices(similarities, n_windows)
            neighbours = rank_by_best_window(
                zip(owners[nearest].tolist(), similarities[nearest].tolist(), strict=True), k
            )
            if len(neighbours) >= k or n_windows >= len(similarities):
                return neighbours
            n_windows *= 4

    def _compare(self, vector: Vector, only_seqs: Seqs | None) -> tuple[Seqs, Vector]:
        """Return the record numbers and similarities of the compared rows."""
        owners, matrix = self._owners[: self._n_rows], self._matrix[: self._n_rows]
        if only_seqs is not None:
            is_compared = np.zeros(max(owners.max(initial=0), only_seqs.max(initial=0)) + 1, bool)
            is_compared[only_seqs] = True
            rows = np.flatnonzero(is_compared[owners])
            return owners[rows], dot_products(matrix[rows], vector)
        similarities = dot_products(matrix, vector)
        if not self._free:
            return owners, similarities
        is_used = owners > 0
        return owners[is_used], similarities[is_used]

    def _allocate_row(self) -> int:
        """Return the index of a free row, or of a new row after the last."""
        if self._free:
            return self._free.pop()
        self._n_rows += 1
        return self._n_rows - 1

    def _grow(self) -> None:
        n_before = len(self._matrix)
        if self._n_rows > n_before:
            n_more = max(2 * n_before, self._n_rows, MIN_ROWS) - n_before
            self._matrix = np.concatenate([self._matrix, np.zeros((n_more, self._dimension), np.float32)])
            self._owners = np.concatenate([self._owners, np.zeros(n_more, np.int64)])


def rank_by_best_window(hits: Iterable[tuple[int, float]], k: int) -> Neighbours:
    """Return the k nearest records, nearest first, given the similarity of each of their windows."""
    highest: dict[int, float] = {}
    for seq, similarity in hits:
        highest[seq] = max(similarity, highest.get(seq, -2.0))
    return sorted(highest.items(), key=lambda item: -item[1])[:k]


def top_indices(values: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.intp]:
    """Return positions of the k highest values, highest first. Ties are in the order of positions."""
    if k <= 0 or not len(values):
        return np.zeros(0, np.intp)
    if k < len(values):
        candidates = np.argpartition(values, -k)[-k:]
        positions = np.flatnonzero(values >= values[candidates].min())
    else:
        positions = np.arange(len(values))
    return positions[np.argsort(-values[positions], kind="stable")][:k]


def dot_products(vectors: Vectors, vector: Vector) -> Vector:
    """Return the dot products of rows with one vector, computed in this thread.

    BLAS would use all cores. Because the product is memory-bound, that gains little, and costs CPU time if other
    processes are busy: at 3,000 rows 4 ms instead of 0.2.
    """
    similarities: Vector = np.einsum("ij,j->i", vectors, vector)
    return similarities
