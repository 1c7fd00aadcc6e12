"""Exact nearest neighbours among many vectors, in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atlas.core.types import Vectors

BLOCK_ROWS, BLOCK_COLUMNS = 1_024, 4_096
"""Size of a block: 16 MB of similarities."""

Similarities = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest neighbours of each vector, nearest first."""

    indices: npt.NDArray[np.int32]
    """Shape (n, k)."""

    similarities: Similarities
    """Shape (n, k), cosines."""


def nearest_neighbours(
    vectors: Vectors, k: int, pool: Vectors | None = None, on_progress: Callable[[int, int], None] | None = None
) -> Neighbours:
    """Return the k nearest neighbours of each vector, from the other vectors or from `pool`.

    Args:
        vectors: Rows of unit length.
        k: Number of neighbours. If there are fewer, all are returned.
        pool: Rows of unit length, or None for the vectors themselves.
        on_progress: Called with the number of vectors done, and their total.
    """
    candidates = vectors if pool is None else pool
    k = max(0, min(k, len(candidates) - (pool is None)))
    indices = np.zeros((len(vectors), k), np.int32)
    similarities = np.zeros((len(vectors), k), np.float32)
    for start in range(0, len(vectors) if k else 0, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, len(vectors)))
        own_start = None if pool is not None else start
        indices[rows], similarities[rows] = _find_nearest(vectors[rows], candidates, k, own_start)
        if on_progress:
            on_progress(rows.stop, len(vectors))
    return Neighbours(indices, similarities)


def _find_nearest(
    rows: Vectors, pool: Vectors, k: int, own_start: int | None
) -> tuple[npt.NDArray[np.int32], Similarities]:
    """Return the indices and similarities of the k rows of the pool nearest to each row, shape (n, k) each."""
    best_similarities = np.full((len(rows), k), -2.0, np.float32)
    best_indices = np.zeros((len(rows), k), np.int32)
    for start in range(0, len(pool), BLOCK_COLUMNS):
        block = rows @ pool[start : start + BLOCK_COLUMNS].T
        if own_start is not None:
            _exclude_own_rows(block, own_start - start)
        _merge_block(best_similarities, best_indices, block, start)
    order = np.argsort(-best_similarities, axis=1, kind="stable")
    return np.take_along_axis(best_indices, order, 1), np.take_along_axis(best_similarities, order, 1)


def _exclude_own_rows(block: Similarities, offset: int) -> None:
    """Make each row's similarity to itself the lowest. `offset` is the first row's column in the block."""
    rows = np.arange(len(block))
    is_inside = (rows + offset >= 0) & (rows + offset < block.shape[1])
    block[rows[is_inside], rows[is_inside] + offset] = -2.0


def _merge_block(
    best_similarities: Similarities, best_indices: npt.NDArray[np.int32], block: Similarities, start: int
) -> None:
    """Update the best similarities and their indices in place with a block of further similarities."""
    k = best_similarities.shape[1]
    is_better = block > best_similarities.min(axis=1, keepdims=True)
    n_columns = max(k, int(is_better.sum(axis=1).max(initial=0)))
    if n_columns >= block.shape[1]:
        columns = np.broadcast_to(np.arange(block.shape[1], dtype=np.int32), block.shape)
        values = block
    else:
        values, columns = _pack_selected(block, is_better)
    values = np.concatenate([best_similarities, values], axis=1)
    columns = np.concatenate([best_indices, columns + start], axis=1)
    best_columns = np.argpartition(-values, k - 1, axis=1)[:, :k] if values.shape[1] > k else np.arange(k)[None, :]
    best_similarities[:], best_indices[:] = (
        np.take_along_axis(values, best_columns, 1),
        np.take_along_axis(columns, best_columns, 1),
    )


def _pack_selected(block: Similarities, selected: npt.NDArray[np.bool_]) -> tuple[Similarities, npt.NDArray[np.int32]]:
    """Return the selected values of each row at the row's start, padded with −2, and the columns they were in."""
    rows, columns = np.divmod(np.flatnonzero(selected), block.shape[1])
    counts = selected.sum(axis=1)
    position_in_row = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    values = np.full((len(block), int(counts.max(initial=0))), -2.0, np.float32)
    packed_columns = np.zeros(values.shape, np.int32)
    values[rows, position_in_row] = block[rows, columns]
    packed_columns[rows, position_in_row] = columns
    return values, packed_columns
