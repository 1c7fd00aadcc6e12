"""What operations on grids say to what is no grid, and to what cannot be done."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.primitives.arc.colors import combine, overlay
from atlas.primitives.arc.drawing import (
    draw_cells,
    draw_line,
    draw_ray,
    flood_fill,
)
from atlas.primitives.arc.grids import (
    as_array,
    as_grid,
    find_differences,
    new_grid,
)
from atlas.primitives.arc.patterns import (
    complete_symmetry,
    mirror,
)
from atlas.primitives.arc.transforms import (
    crop,
    crop_to_content,
    gravity,
    join_horizontal,
    join_vertical,
    rotate_90,
    scale,
    shrink,
    split_grid,
    tile,
)


@pytest.mark.parametrize(
    ("not_a_grid", "said"),
    [
        ([], r"got shape \(0,\)"),
        ([[]], r"got shape \(1, 0\)"),
        ([1, 2, 3], r"got shape \(3,\)"),
        ([[[1]]], r"got shape \(1, 1, 1\)"),
        ([[1, 2], [3]], "rows of different lengths"),
        ([[10]], "colours from 10 to 10"),
        ([[-1, 3]], "colours from -1 to 3"),
        ([[0.5]], "not whole numbers"),
        ([[True]], "not whole numbers"),
        ([["1"]], "not whole numbers"),
        ([[None]], "not whole numbers"),
        (None, r"got shape \(\)"),
        ("text", r"got shape \(\)"),
    ],
)
def test_what_is_no_grid_is_refused_with_the_reason(not_a_grid, said):
    with pytest.raises(ValueError, match=f"rows of colours 0–9, all rows of the same length; .*{said}"):
        rotate_90(not_a_grid)


def test_arrays_are_grids_too_and_stay_as_they_are():
    array = np.array([[1, 2], [3, 4]], dtype=np.uint8)
    assert draw_cells(array, [(0, 0)], 9) == [[9, 2], [3, 4]]
    assert array[0, 0] == 1


def test_a_result_is_made_of_plain_numbers_and_shares_nothing_with_what_was_given():
    grid = [[1, 2], [3, 4]]
    result = as_grid(as_array(grid))
    result[0][0] = 9
    assert grid == [[1, 2], [3, 4]]
    assert type(result[1][1]) is int


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: crop([[1, 2]], (0, 0, 2, 2)), r"inside a grid of shape \(1, 2\), got \(0, 0, 2, 2\)"),
        (lambda: crop([[1, 2]], (0, -1, 1, 1)), "inside a grid"),
        (lambda: crop_to_content([[3, 3]], background=3), "every cell has the background's colour 3"),
        (lambda: flood_fill([[1]], (0, 1), 2), r"has no cell \(0, 1\)"),
        (lambda: flood_fill([[1]], (-1, 0), 2), r"has no cell \(-1, 0\)"),
        (lambda: flood_fill([[1]], (0, 0), 12), "colours from 12 to 12"),
        (lambda: draw_line([[1]], (0, 0), (3, 0), 2), "has no cell"),
        (lambda: draw_ray([[1]], (0, 0), (0, 0), 2), "a step that advances"),
        (lambda: draw_ray([[1]], (5, 5), (0, 1), 2), "has no cell"),
        (lambda: gravity([[1]], "north"), "a direction of right, down, left, up; got 'north'"),
        (lambda: mirror([[1]], "up"), "expected one of horizontal"),
        (lambda: complete_symmetry([[1, 2]], "diagonal"), "is not square"),
        (lambda: scale([[1]], 0), "a factor of at least 1"),
        (lambda: shrink([[1, 2]], 2), "does not consist of squares of 2 × 2"),
        (lambda: shrink([[1, 2]], 0), "a factor of at least 1"),
        (lambda: tile([[1]], 0, 1), "at least 1 repetition"),
        (lambda: split_grid([[1, 2, 3]], 1, 2), "cannot be cut into 1 × 2 equal parts"),
        (lambda: join_horizontal([]), "grids of the same height"),
        (lambda: join_vertical([[[1]], [[1, 2]]]), "grids of the same width"),
        (lambda: overlay([[1]], [[1, 2]]), "two grids of the same shape"),
        (lambda: combine([[1]], [[1]], "nor", 2), "expected one of and, or, xor"),
        (lambda: find_differences([[1]], [[1, 2]]), "two grids of the same shape"),
        (lambda: new_grid(0, 3), "at least 1 row"),
    ],
)
def test_what_cannot_be_done_is_said(call, said):
    with pytest.raises(ValueError, match=said):
        call()
