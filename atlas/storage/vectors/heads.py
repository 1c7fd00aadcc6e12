"""The beginnings of vectors, turned so that they say most. They bound every product from above.

Vectors of texts differ in few directions. A product is at most that of the coordinates in those, plus that of the
lengths of both rests (Cauchy and Schwarz). A few coordinates are asked of all rows, some more of those rows whose bound
reaches the k-th best product known. Only rows whose closer bound reaches it too have to be compared in full, so what is
found is exact.

Source:
    The rotation is the dominant subspace of Halko, Martinsson & Tropp, SIAM Review 2011. The bound is that of
    PCA trees and of Teflioudi & Gemulla's LEMP, TODS 2016.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atlas.core.types import Vector, Vectors
from atlas.storage.vectors.products import quick_products

FIRST, MORE = 48, 80
"""Numbers of a row that are asked of all rows, and of those that promise most: coordinates, and the length of what is
left. Fewer take less time, but leave more rows to be asked more of."""

PICKED_SHARE = 8
"""If more than one row in so many is asked for, picking them takes longer than reading all of them in a row."""

N_SAMPLE = 4_096
"""Rows by which the directions are chosen. Others would do as well, but bound less tightly."""

N_TURNS = 4
"""Rounds of turning towards the directions that say most."""

ROUNDING = 1e-5
"""By how much a sum of float32 may be off."""

GROWTH = 2
"""How many times as many rows there may be as when the directions were chosen."""

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of one vector, each part with the length of what is left after it."""

    short: Vector
    more: Vector


class Heads:
    """The heads of the rows of a growing matrix."""

    def __init__(self, vectors: Vectors) -> None:
        """Take the first rows, and choose the directions by some of them."""
        self.n_first = len(vectors)
        n_directions = min(vectors.shape[1], FIRST + MORE - 2)
        self._directions = _directions(vectors[:: max(1, len(vectors) // N_SAMPLE)], n_directions)
        n_short = min(n_directions, FIRST - 1)
        self._short: Vectors = np.zeros((GROWTH * len(vectors), n_short + 1), np.float32)
        self._more: Vectors = np.zeros((GROWTH * len(vectors), n_directions - n_short + 1), np.float32)
        for start in range(0, len(vectors), N_SAMPLE):
            rows = np.arange(start, min(start + N_SAMPLE, len(vectors)))
            self.put(rows, vectors[rows])

    def put(self, rows: Rows, vectors: Vectors) -> None:
        """Take the vectors of rows, in place of those that they had. Rows beyond `GROWTH` times the first are left."""
        is_held = rows < len(self._short)
        held = rows[is_held]
        self._short[held], self._more[held] = self._with_rests(vectors[is_held], vectors[is_held] @ self._directions.T)

    def head(self, vector: Vector) -> Head:
        """Return the head of a vector that rows are compared with."""
        turned = quick_products(self._directions, vector)
        short, more = self._with_rests(vector[None], turned[None])
        return Head(short[0], more[0])

    def bounds(self, head: Head, n_rows: int) -> Vector:
        """Return what the product of each of the first rows with a vector is at most, up to `ROUNDING`."""
        return quick_products(self._short[:n_rows], head.short)

    def closer(self, head: Head, rows: Rows, bounds: Vector) -> Vector:
        """Return closer bounds of some rows, whose bounds are given."""
        closer: Vector = bounds - head.short[-1] * self._short[rows, -1]
        n_rows = int(rows.max(initial=-1)) + 1
        if len(rows) > n_rows // PICKED_SHARE:
            closer += quick_products(self._more[:n_rows], head.more)[rows]
        else:
            closer += quick_products(self._more[rows], head.more)
        return closer

    def _with_rests(self, vectors: Vectors, turned: Vectors) -> tuple[Vectors, Vectors]:
        """Return the first coordinates of vectors, and the following ones, each with the length of what is left."""
        n_short = self._short.shape[1] - 1
        short, following = turned[:, :n_short], turned[:, n_short:]
        return (
            np.column_stack([short, _rest(vectors, short)]),
            np.column_stack([following, _rest(vectors, turned)]),
        )


def _directions(sample: Vectors, n_head: int) -> Vectors:
    """Return orthogonal directions, shape (n_head, dim), in which rows are longest."""
    spread = sample.T @ sample
    start = np.random.default_rng(0).standard_normal((spread.shape[0], n_head)).astype(np.float32)
    turned, _ = np.linalg.qr(start)
    for _ in range(N_TURNS):
        turned, _ = np.linalg.qr(spread @ turned)
    return np.ascontiguousarray(turned.T, np.float32)


def _rest(vectors: Vectors, heads: Vectors) -> Vector:
    """Return how long each row is beyond its head, or a little more."""
    squares = np.einsum("ij,ij->i", vectors, vectors) - np.einsum("ij,ij->i", heads, heads)
    rest: Vector = np.sqrt(np.maximum(0, squares) + np.float32(ROUNDING))
    return rest
