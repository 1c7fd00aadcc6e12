"""Objects of grids: that none is lost, and what is known about them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.primitives.arc.grids import find_color, get_shape, new_grid
from atlas.primitives.arc.objects import (
    count_by,
    count_holes,
    count_objects,
    draw_object,
    erase_object,
    get_objects,
    move_object,
    object_box,
    object_color,
    object_property,
    object_to_grid,
    pick_by,
    pick_largest,
    pick_odd_one_out,
    pick_smallest,
    same_shape,
    sort_objects,
    touches_border,
)
from atlas.primitives.arc.transforms import crop, pad
from tests.support.grids import FEW, grids

SMALL = grids(colors=st.integers(0, 2))
RING = [[1, 1, 1, 1, 1], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]]


@FEW
@given(SMALL, st.booleans(), st.booleans())
def test_every_cell_that_is_not_background_is_in_just_one_object(grid, diagonal, by_color):
    objects = get_objects(grid, diagonal, by_color)
    cells = [cell for object_ in objects for cell in object_]
    assert sorted(cells) == sorted(set(find_color(grid, 1) + find_color(grid, 2)))
    assert all(grid[row][col] == color for object_ in objects for (row, col), color in object_.items())


@FEW
@given(SMALL)
def test_without_a_background_every_cell_is_in_an_object(grid):
    rows, cols = get_shape(grid)
    assert sum(map(len, get_objects(grid, background=None))) == rows * cols
    assert count_objects(grid, by_color=False, background=None) == 1


@FEW
@given(SMALL, st.booleans())
def test_objects_drawn_on_an_empty_grid_are_the_grid_and_erased_leave_none(grid, by_color):
    drawn, erased = new_grid(*get_shape(grid)), grid
    for object_ in get_objects(grid, by_color=by_color):
        drawn, erased = draw_object(drawn, object_), erase_object(erased, object_)
    assert drawn == grid
    assert erased == new_grid(*get_shape(grid))


@FEW
@given(SMALL)
def test_there_are_no_more_objects_where_corners_or_other_colours_connect(grid):
    assert count_objects(grid, diagonal=True) <= count_objects(grid)
    assert count_objects(grid, by_color=False) <= count_objects(grid)


@FEW
@given(SMALL, st.integers(-3, 3), st.integers(-3, 3))
def test_moving_an_object_far_inside_a_grid_keeps_its_shape(grid, down, right):
    wide = pad(grid, 4)
    for object_ in get_objects(wide):
        alone = draw_object(new_grid(*get_shape(wide)), object_)
        (moved,) = get_objects(move_object(alone, object_, down, right))
        assert same_shape(moved, object_)
        assert object_box(moved)[:2] == (object_box(object_)[0] + down, object_box(object_)[1] + right)


def test_what_leaves_the_grid_is_lost():
    assert move_object([[3, 3]], {(0, 0): 3, (0, 1): 3}, 0, 1) == [[0, 3]]


@FEW
@given(SMALL)
def test_the_grid_of_an_object_is_what_its_box_cuts_out_of_it_alone(grid):
    for object_ in get_objects(grid):
        alone = draw_object(new_grid(*get_shape(grid)), object_)
        assert object_to_grid(object_) == crop(alone, object_box(object_))


def test_holes_are_counted_apart_and_touching_ones_at_a_corner_are_two():
    (ring,) = get_objects(RING)
    assert count_holes(ring) == 2
    (knot,) = get_objects([[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]])
    assert count_holes(knot) == 2


def test_a_colour_inside_an_object_that_is_not_its_own_is_a_hole():
    ring = get_objects([[1, 1, 1], [1, 2, 1], [1, 1, 1]])[0]
    assert object_property(ring, "holes") == 1


def test_properties_of_an_object():
    object_ = {(2, 3): 4, (3, 3): 4, (3, 4): 7}
    expected = {"size": 3, "color": 4, "height": 2, "width": 2, "top": 2, "left": 3, "holes": 0}
    assert {by: object_property(object_, by) for by in expected} == expected
    assert object_color({(0, 0): 8, (0, 1): 3}) == 3


@FEW
@given(SMALL, st.sampled_from(["size", "color", "height", "width", "top", "left", "holes"]))
def test_counting_sorting_and_picking_by_a_property_agree(grid, by):
    objects = get_objects(grid)
    counts = count_by(objects, by)
    assert {value: len(pick_by(objects, by, value)) for value in counts} == counts
    values = [object_property(object_, by) for object_ in sort_objects(objects, by)]
    assert values == [value for value, n_objects in counts.items() for _ in range(n_objects)]
    if objects:
        assert len(pick_largest(objects)) == max(map(len, objects))
        assert len(pick_smallest(objects)) == min(map(len, objects))


def test_objects_reach_the_border_or_do_not():
    (object_,) = get_objects([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    assert not touches_border(new_grid(3, 3), object_)
    assert touches_border(new_grid(2, 3), object_)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: object_box({}), "an object with cells"),
        (lambda: object_color({}), "an object with cells"),
        (lambda: object_property({(0, 0): 1}, "beauty"), "expected one of size, .*; got 'beauty'"),
        (lambda: pick_largest([]), "objects to pick from"),
        (lambda: pick_smallest([]), "objects to pick from"),
        (
            lambda: pick_odd_one_out([{(0, 0): 1}, {(1, 1): 1}], "color"),
            "exactly one object whose color no other has, got 0",
        ),
        (lambda: pick_odd_one_out([{(0, 0): 1}, {(1, 1): 2}], "color"), "got 2 of 2"),
    ],
)
def test_what_cannot_be_said_of_objects_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
