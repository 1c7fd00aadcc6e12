"""Grids of ARC: their form, its checks, and queries about their colours and cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Grid = list[list[int]]
"""Shape (rows, cols), colours 0–9, as in ARC's JSON files."""

Cell = tuple[int, int]
"""Row and column, both from 0."""

Box = tuple[int, int, int, int]
"""Top, left, bottom, right. Bottom and right lie just outside, as in slices."""

Cells = npt.NDArray[np.int_]
"""A grid as an array, shape (rows, cols)."""

Direction = Literal["up", "down", "left", "right"]


def as_array(grid: Grid | Cells) -> Cells:
    """The grid as a new array, after checking that it is two-dimensional, not empty, and has colours 0–9.

    Raises:
        ValueError: It is not a grid; the message has the reason.

    Examples:
        >>> as_array([[1, 2, 3], [4, 5, 6]]).shape
        (2, 3)
        >>> as_array([[1, 2], [3, 4]])[:, 0].tolist()
        [1, 3]
    """
    expected = "a grid is one or more rows of colours 0–9, all rows of the same length"
    try:
        cells = np.array(grid)
    except ValueError as error:
        raise ValueError(f"{expected}; got rows of different lengths") from error
    if cells.ndim != 2 or cells.size == 0:
        raise ValueError(f"{expected}; got shape {cells.shape}")
    if not np.issubdtype(cells.dtype, np.integer):
        raise ValueError(f"{expected}; got cells that are not whole numbers")
    if cells.min() < 0 or cells.max() > 9:
        raise ValueError(f"{expected}; got colours from {cells.min()} to {cells.max()}")
    return cells.astype(np.int_)


def as_grid(cells: Grid | Cells) -> Grid:
    """The array as nested lists of plain numbers, after checking that it is a grid.

    Raises:
        ValueError: It is not a grid.

    Examples:
        >>> as_grid(np.zeros((1, 3), int))
        [[0, 0, 0]]
        >>> as_grid(np.eye(2, dtype=int) * 5)
        [[5, 0], [0, 5]]
    """
    rows: Grid = as_array(cells).tolist()
    return rows


def new_grid(rows: int, cols: int, color: int = 0) -> Grid:
    """A grid of one colour.

    Raises:
        ValueError: A side is not positive, or the colour is not in 0–9.

    Examples:
        >>> new_grid(2, 3)
        [[0, 0, 0], [0, 0, 0]]
        >>> new_grid(1, 2, color=7)
        [[7, 7]]
    """
    if rows < 1 or cols < 1:
        raise ValueError(f"a grid has at least 1 row and 1 column, got {rows} and {cols}")
    return as_grid(np.full((rows, cols), color))


def get_shape(grid: Grid) -> tuple[int, int]:
    """The number of rows and of columns.

    Examples:
        >>> get_shape([[1, 2, 3]])
        (1, 3)
        >>> get_shape([[0], [0]])
        (2, 1)
    """
    rows, cols = as_array(grid).shape
    return rows, cols


def get_palette(grid: Grid) -> list[int]:
    """The colours that occur, lowest first.

    Examples:
        >>> get_palette([[3, 0], [3, 8]])
        [0, 3, 8]
        >>> get_palette([[5]])
        [5]
    """
    return sorted({color for row in as_grid(grid) for color in row})


def count_color(grid: Grid, color: int) -> int:
    """How many cells have the colour.

    Examples:
        >>> count_color([[1, 2], [2, 2]], 2)
        3
        >>> count_color([[1, 2]], 9)
        0
    """
    return int(np.count_nonzero(as_array(grid) == color))


def get_background_color(grid: Grid) -> int:
    """The most common colour. The lowest of several that are equally common.

    Examples:
        >>> get_background_color([[0, 0, 3], [0, 3, 0]])
        0
        >>> get_background_color([[8, 8], [8, 0]])
        8
    """
    return int(np.bincount(as_array(grid).ravel()).argmax())


def get_least_common_color(grid: Grid) -> int:
    """The least common of the colours that occur. The lowest of several that are equally rare.

    Examples:
        >>> get_least_common_color([[0, 0, 3], [0, 0, 0]])
        3
        >>> get_least_common_color([[4, 4, 2, 2]])
        2
    """
    return min(get_palette(grid), key=lambda color: count_color(grid, color))


def find_color(grid: Grid, color: int) -> list[Cell]:
    """The cells that have the colour, row by row.

    Examples:
        >>> find_color([[0, 5], [5, 0]], 5)
        [(0, 1), (1, 0)]
        >>> find_color([[0, 5]], 1)
        []
    """
    return [(int(row), int(col)) for row, col in np.argwhere(as_array(grid) == color)]


def find_differences(grid: Grid, other: Grid) -> list[Cell]:
    """The cells in which two grids of the same shape differ, row by row.

    Raises:
        ValueError: Their shapes differ.

    Examples:
        >>> find_differences([[1, 2], [3, 4]], [[1, 0], [3, 4]])
        [(0, 1)]
        >>> find_differences([[1, 2]], [[1, 2]])
        []
    """
    if get_shape(grid) != get_shape(other):
        raise ValueError(f"expected two grids of the same shape, got {get_shape(grid)} and {get_shape(other)}")
    return [(int(row), int(col)) for row, col in np.argwhere(as_array(grid) != as_array(other))]


def find_cells_outside(grid: Grid, cells: Sequence[Cell]) -> list[Cell]:
    """The cells that lie outside of the grid.

    Examples:
        >>> find_cells_outside([[0, 0], [0, 0]], [(0, 1), (0, 2), (-1, 0)])
        [(0, 2), (-1, 0)]
        >>> find_cells_outside([[0, 0]], [(0, 0)])
        []
    """
    rows, cols = get_shape(grid)
    return [(row, col) for row, col in cells if not (0 <= row < rows and 0 <= col < cols)]


def connected_cells(grid: Grid, start: Cell, diagonal: bool = False) -> list[Cell]:
    """A cell and all cells of its colour that are connected to it, row by row.

    Args:
        diagonal: Whether cells that touch at a corner are connected too (8 neighbours rather than 4).

    Raises:
        ValueError: The grid has no such cell.

    Examples:
        >>> connected_cells([[1, 1, 0], [0, 1, 0]], (0, 0))
        [(0, 0), (0, 1), (1, 1)]
        >>> connected_cells([[2, 0], [0, 2]], (0, 0), diagonal=True)
        [(0, 0), (1, 1)]
    """
    if find_cells_outside(grid, [start]):
        raise ValueError(f"a grid of shape {get_shape(grid)} has no cell {start}")
    around = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if diagonal or not down or not right]
    waiting = set(find_color(grid, grid[start[0]][start[1]])) - {start}
    reached, frontier = {start}, [start]
    while frontier:
        row, col = frontier.pop()
        near = {(row + down, col + right) for down, right in around} & waiting
        waiting -= near
        reached |= near
        frontier.extend(near)
    return sorted(reached)
