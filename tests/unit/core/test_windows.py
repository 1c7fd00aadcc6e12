"""Where long texts are cut, and what stands for their windows together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from atlas.embedding.windows import MAX_WINDOWS, in_characters, mean_direction, mean_directions, spread


def lengths(windows):
    return {end - start for start, end in windows}


@given(n_units=st.integers(0, 40_000), capacity=st.integers(4, 512), max_windows=st.integers(2, MAX_WINDOWS))
def test_windows_reach_from_the_beginning_to_the_end_and_none_is_too_long(n_units, capacity, max_windows):
    windows = spread(n_units, capacity, max_windows)
    assert (windows[0][0], windows[-1][1]) == (0, n_units)
    assert len(windows) <= max_windows
    assert len(lengths(windows)) == 1
    assert max(lengths(windows)) <= capacity
    assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(windows))


@given(n_units=st.integers(0, 10_000), capacity=st.integers(4, 512))
def test_neighbours_share_about_a_quarter_where_there_is_room_for_all(n_units, capacity):
    windows = spread(n_units, capacity, n_units + 2)
    for before, after in pairwise(windows):
        shared = before[1] - after[0]
        assert abs(shared - 0.25 * (before[1] - before[0])) <= 2


def test_a_text_that_fits_is_one_window():
    assert spread(0, 10) == [(0, 0)]
    assert spread(10, 10) == [(0, 10)]


def test_a_little_too_much_makes_two_halves_rather_than_a_window_and_a_crumb():
    assert spread(260, 254) == [(0, 149), (111, 260)]


def test_too_many_windows_are_spread_over_the_text():
    assert spread(1_000, 10, max_windows=3) == [(0, 10), (495, 505), (990, 1_000)]


def test_windows_in_characters_take_in_what_stands_before_the_first_and_after_the_last_word():
    offsets = [(2, 5), (6, 9), (10, 13)]
    assert in_characters([(0, 2), (1, 3)], offsets, 20) == [(0, 9), (6, 20)]
    assert in_characters([(0, 3)], offsets, 20) == [(0, 20)]
    assert in_characters([(0, 0)], [], 3) == [(0, 3)]


def test_several_windows_stand_for_the_direction_in_their_middle():
    windows = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [-1, 0, 0]], np.float32)
    middle = [0.5**0.5, 0.5**0.5, 0]
    assert np.allclose(mean_directions(windows, np.array([0, 2, 3])), [middle, [0, 0, 1], [1, 0, 0]])
    assert np.allclose(mean_direction(windows[:2]), middle)
    assert np.array_equal(mean_direction(windows[2:3]), windows[2])
