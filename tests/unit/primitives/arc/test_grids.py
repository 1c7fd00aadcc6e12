"""Laws that operations on grids obey, and what they say to what is no grid."""

from __future__ import annotations

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from atlas.primitives.arc.colors import combine, keep_color, overlay, recolor, remap_colors, swap_colors
from atlas.primitives.arc.drawing import (
    connect_aligned,
    draw_cells,
    draw_line,
    draw_ray,
    draw_rectangle,
    fill_enclosed,
    fill_rectangle,
    flood_fill,
    outline,
)
from atlas.primitives.arc.grids import (
    connected_cells,
    count_color,
    find_color,
    find_differences,
    get_background_color,
    get_palette,
    get_shape,
    new_grid,
)
from atlas.primitives.arc.patterns import (
    complete_symmetry,
    find_pattern,
    find_period,
    is_symmetric,
    mirror,
    split_at_lines,
)
from atlas.primitives.arc.transforms import (
    crop,
    crop_to_content,
    gravity,
    join_horizontal,
    join_vertical,
    mirror_antidiagonal,
    mirror_diagonal,
    mirror_horizontal,
    mirror_vertical,
    pad,
    rotate_90,
    rotate_180,
    rotate_270,
    scale,
    shift,
    shrink,
    split_grid,
    tile,
    wrap,
)
from tests.support.grids import COLORS, FEW, grids

SYMMETRIES = st.sampled_from(["horizontal", "vertical", "diagonal", "antidiagonal", "rotation"])
DIRECTIONS = st.sampled_from(["up", "down", "left", "right"])


@st.composite
def grids_and_cells(draw):
    grid = draw(grids(colors=st.integers(0, 2)))
    rows, cols = get_shape(grid)
    return grid, (draw(st.integers(0, rows - 1)), draw(st.integers(0, cols - 1)))


@FEW
@given(grids())
def test_four_quarter_turns_change_nothing(grid):
    assert rotate_90(rotate_90(rotate_90(rotate_90(grid)))) == grid


@FEW
@given(grids())
def test_turns_add_up(grid):
    assert rotate_180(grid) == rotate_90(rotate_90(grid))
    assert rotate_270(grid) == rotate_90(rotate_180(grid))
    assert rotate_90(rotate_270(grid)) == grid


@FEW
@given(grids(), SYMMETRIES)
def test_mirroring_twice_changes_nothing(grid, symmetry):
    assert mirror(mirror(grid, symmetry), symmetry) == grid


@FEW
@given(grids())
def test_two_mirrors_make_a_turn(grid):
    assert mirror_vertical(mirror_horizontal(grid)) == rotate_180(grid)
    assert mirror_horizontal(mirror_diagonal(grid)) == rotate_90(grid)
    assert mirror_antidiagonal(mirror_diagonal(grid)) == rotate_180(grid)


@FEW
@given(grids(), st.integers(0, 3), COLORS)
def test_cropping_takes_a_frame_off_again(grid, thickness, color):
    rows, cols = get_shape(grid)
    framed = pad(grid, thickness, color)
    assert crop(framed, (thickness, thickness, thickness + rows, thickness + cols)) == grid


@FEW
@given(grids(colors=st.integers(1, 9)), st.integers(0, 3))
def test_cropping_to_the_content_takes_off_all_background_around_it(grid, thickness):
    assert crop_to_content(pad(grid, thickness)) == grid


@FEW
@given(grids(), st.integers(1, 4))
def test_shrinking_undoes_scaling(grid, factor):
    assert shrink(scale(grid, factor), factor) == grid
    assert get_shape(scale(grid, factor)) == tuple(factor * side for side in get_shape(grid))


@FEW
@given(grids(), st.integers(1, 3), st.integers(1, 3))
def test_what_was_tiled_splits_into_equal_parts_and_joins_again(grid, down, across):
    whole = tile(grid, down, across)
    parts = split_grid(whole, down, across)
    assert parts == [grid] * (down * across)
    assert join_vertical([join_horizontal(parts[:across])] * down) == whole


@FEW
@given(grids(), st.integers(1, 3), st.integers(1, 3))
def test_a_period_is_no_longer_than_the_tile(grid, down, across):
    rows, cols = find_period(tile(grid, down, across))
    assert rows <= get_shape(grid)[0]
    assert cols <= get_shape(grid)[1]
    whole = tile(grid, down, across)
    block = crop(whole, (0, 0, rows, cols))
    assert crop(tile(block, *get_shape(whole)), (0, 0, *get_shape(whole))) == whole


@FEW
@given(grids(), st.integers(-9, 9), st.integers(-9, 9))
def test_wrapping_back_changes_nothing_and_loses_no_colour(grid, down, right):
    moved = wrap(grid, down, right)
    assert wrap(moved, -down, -right) == grid
    assert sorted(chain(*moved)) == sorted(chain(*grid))


@FEW
@given(grids(colors=st.integers(1, 9)), st.integers(-9, 9), st.integers(-9, 9))
def test_shifting_moves_each_cell_that_stays_inside(grid, down, right):
    moved, (rows, cols) = shift(grid, down, right), get_shape(grid)
    for row in range(rows):
        for col in range(cols):
            came_from = (row - down, col - right)
            inside = 0 <= came_from[0] < rows and 0 <= came_from[1] < cols
            assert moved[row][col] == (grid[came_from[0]][came_from[1]] if inside else 0)


@FEW
@given(grids(colors=st.integers(0, 2)), DIRECTIONS)
def test_what_has_fallen_stays_and_nothing_is_lost(grid, direction):
    fallen = gravity(grid, direction)
    assert gravity(fallen, direction) == fallen
    assert [count_color(fallen, color) for color in range(10)] == [count_color(grid, color) for color in range(10)]


@FEW
@given(grids(colors=st.integers(0, 2)))
def test_falling_left_keeps_each_rows_order(grid):
    assert gravity(grid, "left") == [sorted(row, key=lambda color: color == 0) for row in grid]


@FEW
@given(grids(), COLORS, COLORS)
def test_colours_swapped_twice_are_as_they_were(grid, first, second):
    assert swap_colors(swap_colors(grid, first, second), first, second) == grid


@FEW
@given(grids(), COLORS, COLORS)
def test_a_replaced_colour_is_gone(grid, old, new):
    replaced = recolor(grid, old, new)
    assert replaced == remap_colors(grid, {old: new})
    assert old == new or old not in get_palette(replaced)


@FEW
@given(grids())
def test_the_colours_of_a_grid_laid_over_each_other_are_the_grid(grid):
    rebuilt = new_grid(*get_shape(grid))
    for color in get_palette(grid):
        rebuilt = overlay(rebuilt, keep_color(grid, color))
    assert rebuilt == grid


@FEW
@given(grids())
def test_the_background_is_as_common_as_any_colour(grid):
    counts = {color: count_color(grid, color) for color in get_palette(grid)}
    assert counts[get_background_color(grid)] == max(counts.values())
    assert sum(counts.values()) == np.size(grid)
    assert all(len(find_color(grid, color)) == counts[color] for color in counts)


@FEW
@given(grids())
def test_either_is_both_or_just_one(grid):
    other = rotate_180(grid)
    both, one, either = (combine(grid, other, how, 1) for how in ("and", "xor", "or"))
    assert combine(both, one, "or", 1) == either
    assert combine(both, one, "and", 1) == new_grid(*get_shape(grid))


@FEW
@given(grids_and_cells(), COLORS, st.booleans())
def test_a_flood_reaches_just_what_is_connected(given_, color, diagonal):
    grid, start = given_
    filled = flood_fill(grid, start, color, diagonal)
    reached = connected_cells(grid, start, diagonal)
    assert all(filled[row][col] == color for row, col in reached)
    assert set(find_differences(grid, filled)) <= set(reached)
    assert start in reached


@FEW
@given(grids_and_cells(), st.booleans())
def test_being_connected_goes_both_ways(given_, diagonal):
    grid, start = given_
    reached = connected_cells(grid, start, diagonal)
    assert all(connected_cells(grid, cell, diagonal) == reached for cell in reached)


@FEW
@given(grids(colors=st.integers(0, 1)))
def test_nothing_at_the_edge_is_enclosed(grid):
    filled = fill_enclosed(grid, 5)
    rows, cols = get_shape(grid)
    assert all(0 < row < rows - 1 and 0 < col < cols - 1 for row, col in find_color(filled, 5))
    assert fill_enclosed(filled, 6) == filled


@FEW
@given(grids_and_cells(), st.data())
def test_a_line_joins_its_ends_without_a_gap(given_, data):
    grid, start = given_
    rows, cols = get_shape(grid)
    end = (data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1)))
    line = draw_line(new_grid(rows, cols), start, end, 9)
    assert count_color(line, 9) == max(abs(start[0] - end[0]), abs(start[1] - end[1])) + 1
    assert end in connected_cells(line, start, diagonal=True)


@FEW
@given(grids(colors=st.integers(0, 1)), st.booleans())
def test_an_outline_touches_what_it_is_around_and_covers_none_of_it(grid, diagonal):
    lined = outline(grid, 5, diagonal)
    assert recolor(lined, 5, 0) == grid
    content = find_color(grid, 1)
    for row, col in find_color(lined, 5):
        steps = [(abs(row - other[0]), abs(col - other[1])) for other in content]
        assert min(max(step) if diagonal else sum(step) for step in steps) == 1


@FEW
@given(grids(colors=st.integers(0, 1)))
def test_connecting_what_is_connected_adds_only_between(grid):
    joined = connect_aligned(grid, 1)
    rows = [[index for index, color in enumerate(row) if color] for row in grid]
    for row, (marked, drawn) in enumerate(zip(rows, joined, strict=True)):
        assert all(drawn[col] == 1 for col in range(marked[0], marked[-1] + 1)) if marked else True, row


def test_a_rectangle_is_the_frame_of_its_filling():
    blank = new_grid(5, 6)
    frame, full = draw_rectangle(blank, (1, 1, 4, 5), 3), fill_rectangle(blank, (1, 1, 4, 5), 3)
    assert fill_enclosed(frame, 3) == full
    assert count_color(frame, 3) == 10


def test_a_ray_stops_before_what_it_meets():
    assert draw_ray([[0, 0, 0, 7]], (0, 0), (0, 1), 2) == [[0, 2, 2, 7]]


@FEW
@given(grids(), SYMMETRIES)
def test_symmetry_is_what_mirroring_leaves(grid, symmetry):
    assert is_symmetric(grid, symmetry) == (mirror(grid, symmetry) == grid)


@FEW
@given(grids(colors=st.integers(1, 9)), st.data())
def test_a_hidden_half_comes_back(grid, data):
    whole = join_horizontal([grid, mirror_horizontal(grid)])
    rows, cols = get_shape(grid)
    hidden = [(data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))) for _ in range(3)]
    assert complete_symmetry(draw_cells(whole, hidden, 0), "horizontal") == whole


@FEW
@given(grids(colors=st.integers(0, 1)), st.data())
def test_a_pattern_is_found_where_it_was_cut_out(grid, data):
    rows, cols = get_shape(grid)
    top, left = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))
    pattern = crop(grid, (top, left, rows, cols))
    assert (top, left) in find_pattern(grid, pattern)


@FEW
@given(grids(colors=st.integers(0, 8)), st.integers(1, 3))
def test_lines_between_parts_split_them_again(grid, n_parts):
    line = new_grid(get_shape(grid)[0], 1, 9)
    strip = join_horizontal([part for _ in range(n_parts) for part in (line, grid)])
    assert split_at_lines(strip, 9) == [grid] * n_parts


def test_splitting_a_grid_that_is_all_line_leaves_nothing():
    assert split_at_lines([[5, 5], [5, 5]], 5) == []
