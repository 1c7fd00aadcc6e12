"""Objects in a grid: finding, measuring, selecting and moving them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from atlas.primitives.arc.drawing import draw_cells, fill_enclosed
from atlas.primitives.arc.grids import (
    Box,
    Cell,
    Grid,
    as_array,
    as_grid,
    connected_cells,
    find_cells_outside,
    find_differences,
    get_shape,
    new_grid,
)

Object = dict[Cell, int]
"""The colour of each of its cells. An object has at least one cell."""

Property = Literal["size", "color", "height", "width", "top", "left", "holes"]


def get_objects(grid: Grid, diagonal: bool = False, by_color: bool = True, background: int | None = 0) -> list[Object]:
    """The connected objects of a grid, in the order of their first cells, row by row.

    Args:
        diagonal: Whether cells that touch at a corner are connected too (8 neighbours rather than 4).
        by_color: Whether each object has one colour. Otherwise touching cells of different colours are one object.
        background: The colour that belongs to no object, or None if every cell belongs to an object.

    Examples:
        >>> get_objects([[1, 1, 0], [0, 0, 2]])
        [{(0, 0): 1, (0, 1): 1}, {(1, 2): 2}]
        >>> get_objects([[1, 0], [0, 2]], diagonal=True, by_color=False)
        [{(0, 0): 1, (1, 1): 2}]
    """
    cells = as_array(grid)
    inside = np.full(cells.shape, True) if background is None else cells != background
    groups = as_grid(cells if by_color else inside.astype(int))
    objects: list[Object] = []
    waiting = {(int(row), int(col)): None for row, col in np.argwhere(inside)}
    while waiting:
        members = connected_cells(groups, next(iter(waiting)), diagonal)
        objects.append({member: int(cells[member]) for member in members})
        for member in members:
            del waiting[member]
    return objects


def count_objects(grid: Grid, diagonal: bool = False, by_color: bool = True, background: int | None = 0) -> int:
    """How many connected objects a grid has. The options are those of `get_objects`.

    Examples:
        >>> count_objects([[1, 1, 0], [0, 0, 2]])
        2
        >>> count_objects([[0, 0]])
        0
    """
    return len(get_objects(grid, diagonal, by_color, background))


def object_box(object_: Object) -> Box:
    """The smallest box around an object: top, left, bottom, right. Bottom and right lie just outside.

    Raises:
        ValueError: It has no cells.

    Examples:
        >>> object_box({(1, 1): 5, (2, 3): 5})
        (1, 1, 3, 4)
        >>> object_box({(0, 0): 1})
        (0, 0, 1, 1)
    """
    if not object_:
        raise ValueError("expected an object with cells, got none")
    rows, cols = [row for row, _ in object_], [col for _, col in object_]
    return min(rows), min(cols), max(rows) + 1, max(cols) + 1


def object_to_grid(object_: Object, background: int = 0) -> Grid:
    """The object alone, on a grid as large as its box.

    Examples:
        >>> object_to_grid({(1, 1): 5, (2, 2): 6})
        [[5, 0], [0, 6]]
        >>> object_to_grid({(7, 3): 4, (7, 4): 4}, background=1)
        [[4, 4]]
    """
    top, left, bottom, right = object_box(object_)
    drawn = as_array(new_grid(bottom - top, right - left, background))
    for (row, col), color in object_.items():
        drawn[row - top, col - left] = color
    return as_grid(drawn)


def object_color(object_: Object) -> int:
    """The most common colour of an object. The lowest of several that are equally common.

    Raises:
        ValueError: It has no cells.

    Examples:
        >>> object_color({(0, 0): 3, (0, 1): 3, (0, 2): 8})
        3
        >>> object_color({(4, 4): 7})
        7
    """
    if not object_:
        raise ValueError("expected an object with cells, got none")
    counts = Counter(object_.values())
    return min(counts, key=lambda color: (-counts[color], color))


def count_holes(object_: Object) -> int:
    """How many separate holes an object has: areas that it encloses.

    Examples:
        >>> count_holes({(0, 0): 1, (0, 1): 1, (0, 2): 1, (1, 0): 1, (1, 2): 1, (2, 0): 1, (2, 1): 1, (2, 2): 1})
        1
        >>> count_holes({(0, 0): 1, (0, 1): 1})
        0
    """
    shape = object_to_grid(dict.fromkeys(object_, 1))
    filled = fill_enclosed(shape, 1)
    holes = draw_cells(new_grid(*get_shape(shape)), find_differences(shape, filled), 1)
    return count_objects(holes)


def object_property(object_: Object, by: Property) -> int:
    """One number about an object.

    Args:
        by: `size` (cells), `color` (the most common), `height`, `width`, `top` (row), `left` (column) or `holes`.

    Raises:
        ValueError: There is no such property, or the object has no cells.

    Examples:
        >>> object_property({(2, 1): 4, (3, 1): 4}, "height")
        2
        >>> object_property({(2, 1): 4, (3, 1): 4}, "color")
        4
    """
    top, left, bottom, right = object_box(object_)
    plain = {"size": len(object_), "height": bottom - top, "width": right - left, "top": top, "left": left}
    if by in plain:
        return plain[by]
    if by not in ("color", "holes"):
        raise ValueError(f"expected one of {', '.join(plain)}, color, holes; got {by!r}")
    return object_color(object_) if by == "color" else count_holes(object_)


def sort_objects(objects: Sequence[Object], by: Property, descending: bool = False) -> list[Object]:
    """The objects in the order of a property, lowest first. Equal ones stay as they are.

    Examples:
        >>> sort_objects([{(0, 0): 1, (0, 1): 1}, {(2, 2): 3}], "size")
        [{(2, 2): 3}, {(0, 0): 1, (0, 1): 1}]
        >>> sort_objects([{(0, 0): 1}, {(2, 2): 3}], "color", descending=True)
        [{(2, 2): 3}, {(0, 0): 1}]
    """
    return sorted(objects, key=lambda object_: object_property(object_, by), reverse=descending)


def count_by(objects: Sequence[Object], by: Property) -> dict[int, int]:
    """How many objects share each value of a property, lowest value first.

    Examples:
        >>> count_by([{(0, 0): 1}, {(2, 2): 3}, {(4, 4): 1}], "color")
        {1: 2, 3: 1}
        >>> count_by([], "size")
        {}
    """
    return dict(sorted(Counter(object_property(object_, by) for object_ in objects).items()))


def pick_by(objects: Sequence[Object], by: Property, value: int) -> list[Object]:
    """The objects whose property has a value, in their order.

    Examples:
        >>> pick_by([{(0, 0): 1}, {(2, 2): 3}], "color", 3)
        [{(2, 2): 3}]
        >>> pick_by([{(0, 0): 1}], "size", 4)
        []
    """
    return [object_ for object_ in objects if object_property(object_, by) == value]


def pick_largest(objects: Sequence[Object]) -> Object:
    """The object with the most cells, or the first of several.

    Raises:
        ValueError: There are no objects.

    Examples:
        >>> pick_largest([{(0, 0): 1}, {(2, 2): 3, (2, 3): 3}])
        {(2, 2): 3, (2, 3): 3}
        >>> pick_largest([{(0, 0): 1}, {(2, 2): 3}])
        {(0, 0): 1}
    """
    if not objects:
        raise ValueError("expected objects to pick from, got none")
    return max(objects, key=len)


def pick_smallest(objects: Sequence[Object]) -> Object:
    """The object with the fewest cells, or the first of several.

    Raises:
        ValueError: There are no objects.

    Examples:
        >>> pick_smallest([{(0, 0): 1, (0, 1): 1}, {(2, 2): 3}])
        {(2, 2): 3}
        >>> pick_smallest([{(0, 0): 1}, {(2, 2): 3}])
        {(0, 0): 1}
    """
    if not objects:
        raise ValueError("expected objects to pick from, got none")
    return min(objects, key=len)


def pick_odd_one_out(objects: Sequence[Object], by: Property) -> Object:
    """The only object with a value of a property that no other object has.

    Raises:
        ValueError: There is no such object, or more than one.

    Examples:
        >>> pick_odd_one_out([{(0, 0): 1}, {(2, 2): 3}, {(4, 4): 1}], "color")
        {(2, 2): 3}
        >>> pick_odd_one_out([{(0, 0): 1, (0, 1): 1}, {(2, 2): 3}, {(4, 4): 1}], "size")
        {(0, 0): 1, (0, 1): 1}
    """
    single = [value for value, n_objects in count_by(objects, by).items() if n_objects == 1]
    if len(single) != 1:
        raise ValueError(f"expected exactly one object whose {by} no other has, got {len(single)} of {len(objects)}")
    return pick_by(objects, by, single[0])[0]


def same_shape(object_: Object, other: Object) -> bool:
    """Whether two objects cover the same pattern of cells, wherever they are and whatever their colours.

    Examples:
        >>> same_shape({(0, 0): 1, (0, 1): 1}, {(3, 4): 2, (3, 5): 7})
        True
        >>> same_shape({(0, 0): 1, (0, 1): 1}, {(0, 0): 1, (1, 0): 1})
        False
    """
    return object_to_grid(dict.fromkeys(object_, 1)) == object_to_grid(dict.fromkeys(other, 1))


def touches_border(grid: Grid, object_: Object) -> bool:
    """Whether an object reaches the edge of its grid.

    Examples:
        >>> touches_border([[0, 0, 0], [0, 1, 0], [0, 0, 0]], {(1, 1): 1})
        False
        >>> touches_border([[0, 0], [0, 1]], {(1, 1): 1})
        True
    """
    rows, cols = get_shape(grid)
    top, left, bottom, right = object_box(object_)
    return top <= 0 or left <= 0 or bottom >= rows or right >= cols


def draw_object(grid: Grid, object_: Object) -> Grid:
    """The grid with an object drawn into it. The object's cells outside the grid are left out.

    Examples:
        >>> draw_object([[0, 0], [0, 0]], {(0, 1): 3, (1, 1): 4})
        [[0, 3], [0, 4]]
        >>> draw_object([[0, 0]], {(0, 1): 3, (1, 1): 4})
        [[0, 3]]
    """
    drawn = as_array(grid)
    outside = set(find_cells_outside(grid, list(object_)))
    for cell, color in object_.items():
        if cell not in outside:
            drawn[cell] = color
    return as_grid(drawn)


def erase_object(grid: Grid, object_: Object, background: int = 0) -> Grid:
    """The grid with an object's cells in the background's colour.

    Examples:
        >>> erase_object([[3, 3], [0, 4]], {(0, 0): 3, (0, 1): 3})
        [[0, 0], [0, 4]]
        >>> erase_object([[8, 2]], {(0, 1): 2}, background=8)
        [[8, 8]]
    """
    return draw_object(grid, dict.fromkeys(object_, background))


def move_object(grid: Grid, object_: Object, down: int, right: int, background: int = 0) -> Grid:
    """The grid with an object moved. It overwrites other cells, and its cells outside the grid are lost.

    Args:
        down: Rows; negative moves up.
        right: Columns; negative moves left.

    Examples:
        >>> move_object([[3, 0], [0, 0]], {(0, 0): 3}, 1, 1)
        [[0, 0], [0, 3]]
        >>> move_object([[2, 2, 0]], {(0, 0): 2, (0, 1): 2}, 0, 1)
        [[0, 2, 2]]
    """
    moved = {(row + down, col + right): color for (row, col), color in object_.items()}
    return draw_object(erase_object(grid, object_, background), moved)
