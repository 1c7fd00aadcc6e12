"""Limits: one check for all doors, and the lists of the specified methods."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.errors import InvalidInput
from atlas.core.hits import check_limit, clamp_limit


@pytest.mark.parametrize("limit", [0, -3, True, 2.0, "4", None])
def test_what_is_no_whole_number_from_one_up_is_refused(limit):
    with pytest.raises(InvalidInput, match="expected 1 or more for limit, got"):
        check_limit(limit, "limit")


def test_whole_numbers_of_numpy_count_too():
    check_limit(np.int64(3))
    assert clamp_limit(np.int64(3)) == 3


@pytest.mark.parametrize(("limit", "length"), [(5, 5), (1, 1), (0, 0), (-7, 0)])
def test_a_list_has_no_less_than_no_items(limit, length):
    assert clamp_limit(limit) == length


@pytest.mark.parametrize("limit", [None, "4", 1.5, True])
def test_the_length_of_a_list_is_a_whole_number(limit):
    with pytest.raises(InvalidInput, match="expected a whole number for k, got"):
        clamp_limit(limit)
