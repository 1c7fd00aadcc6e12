"""Grids are found in calls and results without running them, and drawn with nothing but numbers."""

from __future__ import annotations

import pytest

from atlas.views.concepts.grids import COLOURS, MAX_CELLS, Grid, grid_in, grids_in_call


def test_a_grid_is_found_as_a_result():
    assert grid_in(" [[0, 1], [1, 0]] ") == Grid(((0, 1), (1, 0)))
    assert grid_in("((9,),)") == Grid(((9,),))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[[]]",
        "[1, 2]",
        "[[1, 2], [3]]",
        "[[10]]",
        "[[-1]]",
        "[[True]]",
        "[[1.0]]",
        "['ab', 'cd']",
        "[[x]]",
        "[[1]]; import os",
        "f([[1]])",
        "__import__('os').system('false')",
        "[[1]" * 50,
        "[" * 5_000,
        str([[0] * (MAX_CELLS + 1)]),
        str([[0]] * (MAX_CELLS + 1)),
        "[[0]]" + " " * 30_000,
        "\0",
    ],
)
def test_what_is_no_grid_is_none(text):
    assert grid_in(text) is None


def test_grids_are_found_among_the_arguments_of_a_call_in_their_order():
    found = grids_in_call("overlay([[1, 2]], 3, under=[[4]], deep=turn([[5], [6]]))")
    assert found == (Grid(((1, 2),)), Grid(((4,),)), Grid(((5,), (6,))))
    assert grids_in_call("[[1]]") == ()
    assert grids_in_call("crop(") == ()


def test_a_picture_has_a_cell_of_its_colour_for_each_number():
    grid = Grid(((0, 2), (3, 0)))
    picture = grid.svg()
    assert picture.count("<rect ") == 4
    assert f'<rect x="1" y="0" width="1" height="1" fill="{COLOURS[2]}"/>' in picture
    assert "://" not in picture.replace("http://www.w3.org/2000/svg", "")
    assert grid.size == "2 × 2"


def test_a_large_grid_is_drawn_no_larger_than_a_page_has_room_for():
    assert Grid(((0,) * 40,) * 2).pixels <= 220
    assert Grid(((0,),) * 40).pixels >= 10
