"""Operations that draw into a grid: filling, lines, frames."""

from __future__ import annotations

import numpy as np

from atlas.primitives.arc.grids import (
    Box,
    Cell,
    Grid,
    as_array,
    as_grid,
    connected_cells,
    find_cells_outside,
    get_shape,
)
from atlas.primitives.arc.transforms import crop, pad


def draw_cells(grid: Grid, cells: list[Cell], color: int) -> Grid:
    """The grid with the cells in one colour.

    Raises:
        ValueError: The grid does not have one of the cells, or the colour is not in 0–9.

    Examples:
        >>> draw_cells([[0, 0], [0, 0]], [(0, 0), (1, 1)], 4)
        [[4, 0], [0, 4]]
        >>> draw_cells([[1, 2]], [], 4)
        [[1, 2]]
    """
    outside = find_cells_outside(grid, cells)
    if outside:
        raise ValueError(f"a grid of shape {get_shape(grid)} has no cell {outside[0]}")
    cells_drawn = as_array(grid)
    for cell in cells:
        cells_drawn[cell] = color
    return as_grid(cells_drawn)


def flood_fill(grid: Grid, start: Cell, color: int, diagonal: bool = False) -> Grid:
    """The grid with a cell, and all cells of its colour that are connected to it, in another colour.

    Args:
        diagonal: Whether cells that touch at a corner are connected too.

    Raises:
        ValueError: The grid has no such cell, or the colour is not in 0–9.

    Examples:
        >>> flood_fill([[0, 0, 1], [0, 1, 0]], (0, 0), 5)
        [[5, 5, 1], [5, 1, 0]]
        >>> flood_fill([[2, 0], [0, 2]], (0, 0), 3, diagonal=True)
        [[3, 0], [0, 3]]
    """
    return draw_cells(grid, connected_cells(grid, start, diagonal), color)


def fill_enclosed(grid: Grid, color: int, background: int = 0) -> Grid:
    """The grid with its enclosed background filled: holes, and the inside of closed frames.

    Background that is connected to the outside only across a corner counts as enclosed.

    Examples:
        >>> fill_enclosed([[1, 1, 1], [1, 0, 1], [1, 1, 1]], 4)
        [[1, 1, 1], [1, 4, 1], [1, 1, 1]]
        >>> fill_enclosed([[1, 1, 1], [1, 0, 0], [1, 1, 1]], 4)
        [[1, 1, 1], [1, 0, 0], [1, 1, 1]]
    """
    framed = pad(grid, color=background)
    outside = {(row - 1, col - 1) for row, col in connected_cells(framed, (0, 0))}
    empty = np.argwhere(as_array(grid) == background).tolist()
    return draw_cells(grid, [(row, col) for row, col in empty if (row, col) not in outside], color)


def draw_line(grid: Grid, start: Cell, end: Cell, color: int) -> Grid:
    """The grid with a straight line from one cell to another, both included.

    A slanted line has one cell in each row, or in each column if it spans more columns: the nearest to the true line.

    Raises:
        ValueError: The grid does not have one of the cells, or the colour is not in 0–9.

    Examples:
        >>> draw_line([[0, 0, 0], [0, 0, 0]], (1, 0), (1, 2), 6)
        [[0, 0, 0], [6, 6, 6]]
        >>> draw_line([[0, 0, 0], [0, 0, 0], [0, 0, 0]], (0, 0), (2, 2), 1)
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    down, right = end[0] - start[0], end[1] - start[1]
    n_steps = max(abs(down), abs(right), 1)
    on_line = [
        (
            start[0] + (2 * down * step + n_steps) // (2 * n_steps),
            start[1] + (2 * right * step + n_steps) // (2 * n_steps),
        )
        for step in range(n_steps + 1)
    ]
    return draw_cells(grid, on_line, color)


def draw_ray(grid: Grid, start: Cell, step: Cell, color: int, background: int = 0) -> Grid:
    """The grid with a ray from a cell across background, up to the first other cell or the edge.

    Args:
        start: The cell where it begins, which stays unchanged.
        step: Rows and columns that it advances each time, such as (0, 1) to the right or (1, 1) aslant.

    Raises:
        ValueError: The step is (0, 0), or the grid has no such cell.

    Examples:
        >>> draw_ray([[3, 0, 0, 5]], (0, 0), (0, 1), 8)
        [[3, 8, 8, 5]]
        >>> draw_ray([[0, 0], [0, 0], [2, 0]], (2, 0), (-1, 1), 2)
        [[0, 0], [0, 2], [2, 0]]
    """
    if step == (0, 0):
        raise ValueError("expected a step that advances, got (0, 0)")
    if find_cells_outside(grid, [start]):
        raise ValueError(f"a grid of shape {get_shape(grid)} has no cell {start}")
    met: list[Cell] = []
    row, col = start[0] + step[0], start[1] + step[1]
    while not find_cells_outside(grid, [(row, col)]) and grid[row][col] == background:
        met.append((row, col))
        row, col = row + step[0], col + step[1]
    return draw_cells(grid, met, color)


def fill_rectangle(grid: Grid, box: Box, color: int) -> Grid:
    """The grid with a filled rectangle.

    Args:
        box: Top, left, bottom, right; bottom and right lie just outside.

    Raises:
        ValueError: The box is empty or not wholly inside the grid, or the colour is not in 0–9.

    Examples:
        >>> fill_rectangle([[0, 0, 0], [0, 0, 0]], (0, 1, 2, 3), 2)
        [[0, 2, 2], [0, 2, 2]]
        >>> fill_rectangle([[1, 1]], (0, 0, 1, 1), 0)
        [[0, 1]]
    """
    rows, cols = get_shape(crop(grid, box))
    return draw_cells(grid, [(box[0] + row, box[1] + col) for row in range(rows) for col in range(cols)], color)


def draw_rectangle(grid: Grid, box: Box, color: int) -> Grid:
    """The grid with a frame, one cell thick, just inside a box.

    Args:
        box: Top, left, bottom, right; bottom and right lie just outside.

    Raises:
        ValueError: The box is empty or not wholly inside the grid, or the colour is not in 0–9.

    Examples:
        >>> draw_rectangle([[0, 0, 0], [0, 0, 0], [0, 0, 0]], (0, 0, 3, 3), 5)
        [[5, 5, 5], [5, 0, 5], [5, 5, 5]]
        >>> draw_rectangle([[0, 0], [0, 0]], (0, 0, 1, 2), 1)
        [[1, 1], [0, 0]]
    """
    drawn = as_array(fill_rectangle(grid, box, color))
    top, left, bottom, right = box
    inside = np.s_[top + 1 : bottom - 1, left + 1 : right - 1]
    drawn[inside] = as_array(grid)[inside]
    return as_grid(drawn)


def outline(grid: Grid, color: int, diagonal: bool = True, background: int = 0) -> Grid:
    """The grid with a border in a colour around everything that is not background.

    Args:
        diagonal: Whether background that touches it at a corner only belongs to the border too.

    Examples:
        >>> outline([[0, 0, 0], [0, 1, 0], [0, 0, 0]], 3)
        [[3, 3, 3], [3, 1, 3], [3, 3, 3]]
        >>> outline([[0, 0, 0], [0, 1, 0], [0, 0, 0]], 3, diagonal=False)
        [[0, 3, 0], [3, 1, 3], [0, 3, 0]]
    """
    cells = as_array(grid)
    rows, cols = cells.shape
    content = np.pad(cells != background, 1)
    near = np.zeros(cells.shape, bool)
    for down in (0, 1, 2):
        for right in (0, 1, 2):
            if diagonal or down == 1 or right == 1:
                near |= content[down : down + rows, right : right + cols]
    return as_grid(np.where(near & (cells == background), color, cells))


def connect_aligned(grid: Grid, color: int) -> Grid:
    """The grid with a straight line between any two cells of a colour in the same row or column.

    Examples:
        >>> connect_aligned([[4, 0, 0, 4]], 4)
        [[4, 4, 4, 4]]
        >>> connect_aligned([[4, 0], [0, 0], [4, 1]], 4)
        [[4, 0], [4, 0], [4, 1]]
    """
    marked = as_array(grid) == color
    between = np.zeros(marked.shape, bool)
    for axis in (0, 1):
        before = np.logical_or.accumulate(marked, axis=axis)
        after = np.flip(np.logical_or.accumulate(np.flip(marked, axis), axis=axis), axis)
        between |= before & after
    return as_grid(np.where(between, color, as_array(grid)))
