"""Operations on the colours of a grid, and of one grid laid over another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from atlas.primitives.arc.grids import Grid, as_array, as_grid


def recolor(grid: Grid, old: int, new: int) -> Grid:
    """The grid with one colour replaced by another.

    Examples:
        >>> recolor([[1, 2], [2, 1]], 2, 7)
        [[1, 7], [7, 1]]
        >>> recolor([[0, 3]], 5, 7)
        [[0, 3]]
    """
    cells = as_array(grid)
    return as_grid(np.where(cells == old, new, cells))


def remap_colors(grid: Grid, colors: Mapping[int, int]) -> Grid:
    """The grid with its colours replaced by a mapping. Colours that are not in the mapping stay.

    Examples:
        >>> remap_colors([[1, 2], [3, 1]], {1: 2, 2: 1})
        [[2, 1], [3, 2]]
        >>> remap_colors([[4, 5]], {})
        [[4, 5]]
    """
    return as_grid([[colors.get(color, color) for color in row] for row in as_grid(grid)])


def swap_colors(grid: Grid, first: int, second: int) -> Grid:
    """The grid with two colours exchanged.

    Examples:
        >>> swap_colors([[1, 2], [0, 1]], 1, 2)
        [[2, 1], [0, 2]]
        >>> swap_colors([[3, 0]], 0, 8)
        [[3, 8]]
    """
    return remap_colors(grid, {first: second, second: first})


def keep_color(grid: Grid, color: int, background: int = 0) -> Grid:
    """The grid with everything but one colour replaced by the background.

    Examples:
        >>> keep_color([[1, 2], [3, 2]], 2)
        [[0, 2], [0, 2]]
        >>> keep_color([[1, 2]], 1, background=9)
        [[1, 9]]
    """
    cells = as_array(grid)
    return as_grid(np.where(cells == color, cells, background))


def overlay(below: Grid, above: Grid, transparent: int = 0) -> Grid:
    """One grid laid over another of the same shape. The lower grid shows through its transparent cells.

    Raises:
        ValueError: Their shapes differ.

    Examples:
        >>> overlay([[1, 1], [1, 1]], [[0, 5], [5, 0]])
        [[1, 5], [5, 1]]
        >>> overlay([[1, 2]], [[3, 4]], transparent=3)
        [[1, 4]]
    """
    lower, upper = as_array(below), as_array(above)
    if lower.shape != upper.shape:
        raise ValueError(f"expected two grids of the same shape, got {lower.shape} and {upper.shape}")
    return as_grid(np.where(upper == transparent, lower, upper))


def combine(grid: Grid, other: Grid, how: Literal["and", "or", "xor"], color: int, background: int = 0) -> Grid:
    """The logical and, or, or xor of two grids: the resulting cells get one colour, and all others the background.

    Args:
        how: `and`, `or` or `xor`.

    Raises:
        ValueError: The shapes differ, or there is no such way to combine them.

    Examples:
        >>> combine([[1, 1, 0, 0]], [[2, 0, 2, 0]], "and", 3)
        [[3, 0, 0, 0]]
        >>> combine([[1, 1, 0, 0]], [[2, 0, 2, 0]], "xor", 8)
        [[0, 8, 8, 0]]
    """
    ways = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
    first, second = as_array(grid), as_array(other)
    if how not in ways:
        raise ValueError(f"expected one of {', '.join(ways)}; got {how!r}")
    if first.shape != second.shape:
        raise ValueError(f"expected two grids of the same shape, got {first.shape} and {second.shape}")
    return as_grid(np.where(ways[how](first != background, second != background), color, background))
