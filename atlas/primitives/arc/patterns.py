"""Regularities of a grid: symmetry, repetition, patterns, dividing lines."""

from __future__ import annotations

from typing import Literal

import numpy as np

from atlas.primitives.arc.grids import Cell, Grid, as_array, as_grid
from atlas.primitives.arc.transforms import (
    mirror_antidiagonal,
    mirror_diagonal,
    mirror_horizontal,
    mirror_vertical,
    rotate_180,
)

Symmetry = Literal["horizontal", "vertical", "diagonal", "antidiagonal", "rotation"]


def mirror(grid: Grid, symmetry: Symmetry) -> Grid:
    """The grid mirrored, or turned by 180° for `rotation`.

    Args:
        symmetry: `horizontal` (left and right), `vertical`, `diagonal`, `antidiagonal` or `rotation`.

    Raises:
        ValueError: There is no such symmetry.

    Examples:
        >>> mirror([[1, 2, 3]], "horizontal")
        [[3, 2, 1]]
        >>> mirror([[1, 2], [3, 4]], "rotation")
        [[4, 3], [2, 1]]
    """
    mirrors = {
        "horizontal": mirror_horizontal,
        "vertical": mirror_vertical,
        "diagonal": mirror_diagonal,
        "antidiagonal": mirror_antidiagonal,
        "rotation": rotate_180,
    }
    if symmetry not in mirrors:
        raise ValueError(f"expected one of {', '.join(mirrors)}; got {symmetry!r}")
    return mirrors[symmetry](grid)


def is_symmetric(grid: Grid, symmetry: Symmetry) -> bool:
    """Whether a grid equals its mirror image. The symmetries are those of `mirror`.

    Examples:
        >>> is_symmetric([[1, 0, 1], [2, 3, 2]], "horizontal")
        True
        >>> is_symmetric([[1, 0, 1], [2, 3, 2]], "vertical")
        False
    """
    return mirror(grid, symmetry) == as_grid(grid)


def complete_symmetry(grid: Grid, symmetry: Symmetry, hidden: int = 0) -> Grid:
    """The grid with each hidden cell in the colour of its mirror image.

    Args:
        hidden: The colour of the cells to fill; a cell whose mirror image is hidden too stays hidden.

    Raises:
        ValueError: A diagonal symmetry of a grid that is not square.

    Examples:
        >>> complete_symmetry([[1, 2, 0, 0]], "horizontal")
        [[1, 2, 2, 1]]
        >>> complete_symmetry([[5, 9], [5, 4]], "vertical", hidden=9)
        [[5, 4], [5, 4]]
    """
    cells, image = as_array(grid), as_array(mirror(grid, symmetry))
    if cells.shape != image.shape:
        raise ValueError(f"a grid of shape {cells.shape} is not square, so it has no {symmetry} symmetry")
    return as_grid(np.where(cells == hidden, image, cells))


def find_period(grid: Grid) -> tuple[int, int]:
    """The numbers of rows and columns after which a grid repeats, or its full height or width if it does not.

    Examples:
        >>> find_period([[1, 2, 1, 2, 1]])
        (1, 2)
        >>> find_period([[1, 2], [3, 4]])
        (2, 2)
    """
    cells = as_array(grid)
    rows, cols = cells.shape
    down = next(step for step in range(1, rows + 1) if np.array_equal(cells[step:], cells[: rows - step]))
    across = next(step for step in range(1, cols + 1) if np.array_equal(cells[:, step:], cells[:, : cols - step]))
    return down, across


def find_pattern(grid: Grid, pattern: Grid) -> list[Cell]:
    """The top left cell of each occurrence of a pattern in a grid, row by row. Occurrences may overlap.

    Examples:
        >>> find_pattern([[1, 2, 1], [1, 2, 2]], [[1, 2]])
        [(0, 0), (1, 0)]
        >>> find_pattern([[1, 2]], [[1], [2]])
        []
    """
    cells, wanted = as_array(grid), as_array(pattern)
    if wanted.shape[0] > cells.shape[0] or wanted.shape[1] > cells.shape[1]:
        return []
    windows = np.lib.stride_tricks.sliding_window_view(cells, wanted.shape)
    return [(int(row), int(col)) for row, col in np.argwhere((windows == wanted).all(axis=(2, 3)))]


def split_at_lines(grid: Grid, color: int) -> list[Grid]:
    """The parts of a grid between its full rows and columns of one colour, row by row. Empty if there are no parts.

    Examples:
        >>> split_at_lines([[1, 5, 2], [3, 5, 4]], 5)
        [[[1], [3]], [[2], [4]]]
        >>> split_at_lines([[1, 2], [5, 5], [3, 4]], 5)
        [[[1, 2]], [[3, 4]]]
    """
    cells = as_array(grid)
    bands = [np.flatnonzero(~(cells == color).all(axis=1 - axis)) for axis in (0, 1)]
    row_runs, col_runs = (
        [run for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if len(run)] for at in bands
    )
    return [as_grid(cells[np.ix_(rows, cols)]) for rows in row_runs for cols in col_runs]
