"""Operations on a grid as a whole: turning, mirroring, cutting, repeating, moving."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atlas.primitives.arc.grids import Box, Direction, Grid, as_array, as_grid


def rotate_90(grid: Grid) -> Grid:
    """The grid turned by 90° clockwise.

    Examples:
        >>> rotate_90([[1, 2], [3, 4]])
        [[3, 1], [4, 2]]
        >>> rotate_90([[1, 2, 3]])
        [[1], [2], [3]]
    """
    return as_grid(np.rot90(as_array(grid), -1))


def rotate_180(grid: Grid) -> Grid:
    """The grid turned by 180°.

    Examples:
        >>> rotate_180([[1, 2], [3, 4]])
        [[4, 3], [2, 1]]
        >>> rotate_180([[1, 2, 3]])
        [[3, 2, 1]]
    """
    return as_grid(np.rot90(as_array(grid), 2))


def rotate_270(grid: Grid) -> Grid:
    """The grid turned by 270° clockwise, which is 90° counter-clockwise.

    Examples:
        >>> rotate_270([[1, 2], [3, 4]])
        [[2, 4], [1, 3]]
        >>> rotate_270([[1, 2, 3]])
        [[3], [2], [1]]
    """
    return as_grid(np.rot90(as_array(grid), 1))


def mirror_horizontal(grid: Grid) -> Grid:
    """The grid with left and right swapped.

    Examples:
        >>> mirror_horizontal([[1, 2], [3, 4]])
        [[2, 1], [4, 3]]
        >>> mirror_horizontal([[1, 2, 3]])
        [[3, 2, 1]]
    """
    return as_grid(np.fliplr(as_array(grid)))


def mirror_vertical(grid: Grid) -> Grid:
    """The grid with top and bottom swapped.

    Examples:
        >>> mirror_vertical([[1, 2], [3, 4]])
        [[3, 4], [1, 2]]
        >>> mirror_vertical([[1, 2, 3]])
        [[1, 2, 3]]
    """
    return as_grid(np.flipud(as_array(grid)))


def mirror_diagonal(grid: Grid) -> Grid:
    """The grid with rows and columns swapped: mirrored in the diagonal from the top left, transposed.

    Examples:
        >>> mirror_diagonal([[1, 2], [3, 4]])
        [[1, 3], [2, 4]]
        >>> mirror_diagonal([[1, 2, 3]])
        [[1], [2], [3]]
    """
    return as_grid(as_array(grid).T)


def mirror_antidiagonal(grid: Grid) -> Grid:
    """The grid mirrored in the diagonal from the top right.

    Examples:
        >>> mirror_antidiagonal([[1, 2], [3, 4]])
        [[4, 2], [3, 1]]
        >>> mirror_antidiagonal([[1, 2, 3]])
        [[3], [2], [1]]
    """
    return as_grid(np.rot90(as_array(grid), 2).T)


def crop(grid: Grid, box: Box) -> Grid:
    """The part of the grid inside a box.

    Args:
        box: Top, left, bottom, right; bottom and right lie just outside, as in slices.

    Raises:
        ValueError: The box is empty or not wholly inside the grid.

    Examples:
        >>> crop([[1, 2, 3], [4, 5, 6]], (0, 1, 2, 3))
        [[2, 3], [5, 6]]
        >>> crop([[1, 2], [3, 4]], (1, 0, 2, 1))
        [[3]]
    """
    cells = as_array(grid)
    top, left, bottom, right = box
    if not (0 <= top < bottom <= cells.shape[0] and 0 <= left < right <= cells.shape[1]):
        raise ValueError(f"expected a box (top, left, bottom, right) inside a grid of shape {cells.shape}, got {box}")
    return as_grid(cells[top:bottom, left:right])


def crop_to_content(grid: Grid, background: int = 0) -> Grid:
    """The smallest part of the grid that contains every cell which is not background.

    Raises:
        ValueError: All of it is background.

    Examples:
        >>> crop_to_content([[0, 0, 0], [0, 3, 0], [0, 0, 4]])
        [[3, 0], [0, 4]]
        >>> crop_to_content([[7, 7], [7, 1]], background=7)
        [[1]]
    """
    cells = as_array(grid)
    rows, cols = np.nonzero(cells != background)
    if not len(rows):
        raise ValueError(f"nothing to crop to: every cell has the background's colour {background}")
    return as_grid(cells[rows.min() : rows.max() + 1, cols.min() : cols.max() + 1])


def pad(grid: Grid, thickness: int = 1, color: int = 0) -> Grid:
    """The grid with a frame around it.

    Raises:
        ValueError: The thickness is negative, or the colour is not in 0–9.

    Examples:
        >>> pad([[1]])
        [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
        >>> pad([[1, 2]], thickness=1, color=5)
        [[5, 5, 5, 5], [5, 1, 2, 5], [5, 5, 5, 5]]
    """
    return as_grid(np.pad(as_array(grid), thickness, constant_values=color))


def tile(grid: Grid, down: int, across: int) -> Grid:
    """The grid repeated a number of times downwards and across.

    Raises:
        ValueError: A number is not positive.

    Examples:
        >>> tile([[1, 2]], 2, 2)
        [[1, 2, 1, 2], [1, 2, 1, 2]]
        >>> tile([[3], [4]], 1, 2)
        [[3, 3], [4, 4]]
    """
    if down < 1 or across < 1:
        raise ValueError(f"expected at least 1 repetition down and across, got {down} and {across}")
    return as_grid(np.tile(as_array(grid), (down, across)))


def scale(grid: Grid, factor: int) -> Grid:
    """The grid enlarged: every cell becomes a square of `factor` × `factor` cells.

    Raises:
        ValueError: The factor is not positive.

    Examples:
        >>> scale([[1, 2]], 2)
        [[1, 1, 2, 2], [1, 1, 2, 2]]
        >>> scale([[5, 0], [0, 5]], 1)
        [[5, 0], [0, 5]]
    """
    if factor < 1:
        raise ValueError(f"expected a factor of at least 1, got {factor}")
    return as_grid(as_array(grid).repeat(factor, axis=0).repeat(factor, axis=1))


def shrink(grid: Grid, factor: int) -> Grid:
    """The grid made smaller: every square of `factor` × `factor` cells becomes one cell. The inverse of `scale`.

    Raises:
        ValueError: The grid does not consist of squares of that size, each of one colour.

    Examples:
        >>> shrink([[1, 1, 2, 2], [1, 1, 2, 2]], 2)
        [[1, 2]]
        >>> shrink([[3, 3, 3], [3, 3, 3], [3, 3, 3]], 3)
        [[3]]
    """
    small = as_grid(as_array(grid)[:: max(factor, 1), :: max(factor, 1)])
    if scale(small, factor) != as_grid(grid):
        raise ValueError(f"the grid does not consist of squares of {factor} × {factor} cells, each of one colour")
    return small


def shift(grid: Grid, down: int, right: int, color: int = 0) -> Grid:
    """The grid moved within its frame. Cells that leave the frame are lost, and free cells get a colour.

    Args:
        down: Rows; negative moves up.
        right: Columns; negative moves left.

    Examples:
        >>> shift([[1, 2], [3, 4]], 1, 0)
        [[0, 0], [1, 2]]
        >>> shift([[1, 2, 3]], 0, -1, color=9)
        [[2, 3, 9]]
    """
    cells = as_array(grid)
    rows, cols = cells.shape
    moved = np.full_like(cells, color)
    visible = cells[max(-down, 0) : max(rows - down, 0), max(-right, 0) : max(cols - right, 0)]
    top, left = max(down, 0), max(right, 0)
    moved[top : top + visible.shape[0], left : left + visible.shape[1]] = visible
    return as_grid(moved)


def wrap(grid: Grid, down: int, right: int) -> Grid:
    """The grid moved within its frame. Cells that leave it on one side enter on the opposite side.

    Examples:
        >>> wrap([[1, 2, 3]], 0, 1)
        [[3, 1, 2]]
        >>> wrap([[1, 2], [3, 4]], 1, 0)
        [[3, 4], [1, 2]]
    """
    return as_grid(np.roll(as_array(grid), (down, right), axis=(0, 1)))


def gravity(grid: Grid, direction: Direction = "down", background: int = 0) -> Grid:
    """The grid after its cells have fallen in a direction, past all background. Their order stays.

    Args:
        direction: `up`, `down`, `left` or `right`.

    Raises:
        ValueError: There is no such direction.

    Examples:
        >>> gravity([[1, 0], [0, 2], [0, 0]])
        [[0, 0], [0, 0], [1, 2]]
        >>> gravity([[0, 3, 0, 4]], "left")
        [[3, 4, 0, 0]]
    """
    turns = {"right": 0, "down": 1, "left": 2, "up": 3}
    if direction not in turns:
        raise ValueError(f"expected a direction of {', '.join(turns)}; got {direction!r}")
    falling = np.rot90(as_array(grid), turns[direction])
    order = np.argsort(falling != background, axis=1, kind="stable")
    return as_grid(np.rot90(np.take_along_axis(falling, order, axis=1), -turns[direction]))


def split_grid(grid: Grid, down: int, across: int) -> list[Grid]:
    """The grid cut into a number of equal parts downwards and across, row by row.

    Raises:
        ValueError: The height or width is not divisible by its number of parts.

    Examples:
        >>> split_grid([[1, 2, 3, 4]], 1, 2)
        [[[1, 2]], [[3, 4]]]
        >>> split_grid([[1, 2], [3, 4]], 2, 1)
        [[[1, 2]], [[3, 4]]]
    """
    cells = as_array(grid)
    if down < 1 or across < 1 or cells.shape[0] % down or cells.shape[1] % across:
        raise ValueError(f"a grid of shape {cells.shape} cannot be cut into {down} × {across} equal parts")
    return [as_grid(part) for band in np.vsplit(cells, down) for part in np.hsplit(band, across)]


def join_horizontal(grids: Sequence[Grid]) -> Grid:
    """The grids side by side, the first at the left.

    Raises:
        ValueError: There are no grids, or their heights differ.

    Examples:
        >>> join_horizontal([[[1], [2]], [[3], [4]]])
        [[1, 3], [2, 4]]
        >>> join_horizontal([[[1, 2]], [[3]]])
        [[1, 2, 3]]
    """
    arrays = [as_array(grid) for grid in grids]
    if len({array.shape[0] for array in arrays}) != 1:
        raise ValueError(f"expected grids of the same height, got shapes {[array.shape for array in arrays]}")
    return as_grid(np.hstack(arrays))


def join_vertical(grids: Sequence[Grid]) -> Grid:
    """The grids one below the other, the first at the top.

    Raises:
        ValueError: There are no grids, or their widths differ.

    Examples:
        >>> join_vertical([[[1, 2]], [[3, 4]]])
        [[1, 2], [3, 4]]
        >>> join_vertical([[[5]], [[6], [7]]])
        [[5], [6], [7]]
    """
    arrays = [as_array(grid) for grid in grids]
    if len({array.shape[1] for array in arrays}) != 1:
        raise ValueError(f"expected grids of the same width, got shapes {[array.shape for array in arrays]}")
    return as_grid(np.vstack(arrays))
