"""The beginnings of vectors, turned so that they say most. They bound every product from above.

Vectors of texts differ in few directions. A product is at most that of the coordinates in those, plus that of the
lengths of both rests (Cauchy and Schwarz). Only rows whose bound reaches the k-th best product known have to be
compared in full, so what is found is exact.

Source:
    The rotation is the dominant subspace of Halko, Martinsson & Tropp, SIAM Review 2011; the bound is that of
    PCA trees and of Teflioudi & Gemulla's LEMP, TODS 2016.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from atlas.core.types import Vector, Vectors
from atlas.storage.vectors.products import products

FEWEST, MOST = 48, 96
"""Coordinates of a head. Fewer take less time, but leave more rows to be compared in full, which counts for less the
more rows there are."""

N_NUMBERS = 4_800_000
"""Of all heads, where that is between the two."""

N_SAMPLE = 4_096
"""Rows by which the directions are chosen. Others would do as well, but bound less tightly."""

N_TURNS = 4
"""Rounds of turning towards the directions that say most."""

ROUNDING = 1e-5
"""By how much a sum of float32 may be off."""


GROWTH = 2
"""How many times as many rows there may be as when the directions were chosen."""

Rows = npt.NDArray[np.intp]


class Heads:
    """The heads of the rows of a growing matrix."""

    def __init__(self, vectors: Vectors) -> None:
        """Take the first rows, and choose the directions by some of them."""
        self.n_first = len(vectors)
        n_head = min(vectors.shape[1], max(FEWEST, min(MOST, N_NUMBERS // len(vectors))))
        self._directions = _directions(vectors[:: max(1, len(vectors) // N_SAMPLE)], n_head)
        self._heads: Vectors = np.zeros((GROWTH * len(vectors), self._directions.shape[1]), np.float32)
        self._rests: Vector = np.zeros(len(self._heads), np.float32)
        for start in range(0, len(vectors), N_SAMPLE):
            rows = np.arange(start, min(start + N_SAMPLE, len(vectors)))
            self.put(rows, vectors[rows])

    def put(self, rows: Rows, vectors: Vectors) -> None:
        """Take the vectors of rows, in place of those that they had. Rows beyond `GROWTH` times the first are left."""
        is_held = rows < len(self._heads)
        heads = vectors[is_held] @ self._directions
        self._heads[rows[is_held]], self._rests[rows[is_held]] = heads, _rest(vectors[is_held], heads)

    def bounds(self, vector: Vector, n_rows: int) -> Vector:
        """Return what the product of each of the first rows with a vector is at most."""
        head = vector @ self._directions
        bounds = products(self._heads[:n_rows], head)
        bounds += self._rests[:n_rows] * (_rest(vector[None], head[None])[0]) + np.float32(ROUNDING)
        return bounds


def _directions(sample: Vectors, n_head: int) -> Vectors:
    """Return orthogonal directions, shape (dim, n_head), in which rows are longest."""
    spread = sample.T @ sample
    start = np.random.default_rng(0).standard_normal((spread.shape[0], n_head)).astype(np.float32)
    turned, _ = np.linalg.qr(start)
    for _ in range(N_TURNS):
        turned, _ = np.linalg.qr(spread @ turned)
    return np.ascontiguousarray(turned, np.float32)


def _rest(vectors: Vectors, heads: Vectors) -> Vector:
    """Return how long each row is beyond its head."""
    squares = np.einsum("ij,ij->i", vectors, vectors) - np.einsum("ij,ij->i", heads, heads)
    rest: Vector = np.sqrt(np.maximum(0, squares) + np.float32(ROUNDING**2))
    return rest
