"""Arguments as JSON and back, by the types that methods declare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from atlas.core.errors import InvalidInput
from atlas.core.types import Link, Outcome, Task
from atlas.verbs.encoding import encode_as
from atlas.verbs.values import READERS

Vectors = npt.NDArray[np.float32]


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Task, Task("t", "", "d", {"a": [1, {"b": None}]})),
        (Outcome | None, Outcome(None, 0.5)),
        (Outcome | None, None),
        (Sequence[Link | tuple[str, str]], [Link("related", "x"), ("related", "y")]),
        (Mapping[str, tuple[int, ...]], {"a": (1, 2)}),
        (Mapping[int, str], {1: "a"}),
        (frozenset[str], frozenset({"b", "a"})),
        (tuple[str, int], ("a", 1)),
        (float | None, float("inf")),
        (Vectors | None, None),
        (datetime, datetime(2026, 5, 1, tzinfo=UTC)),
        (Mapping[str, Any], {"a": "nan"}),
    ],
)
def test_a_value_comes_back_equal(declared, value):
    assert READERS.read(declared, encode_as(declared, value, "it"), "it") == value


def test_vectors_come_back_with_their_shape():
    vectors = np.array([[0.6, 0.8], [1.0, np.nan]], np.float32)
    decoded = READERS.read(Vectors | None, encode_as(Vectors | None, vectors, "it"), "it")
    assert decoded.dtype == np.float32
    np.testing.assert_array_equal(decoded, vectors)


@pytest.mark.parametrize("encoded", [None, 1.0, "1", [None], [["1"]], [True], {"a": 1}, [[1.0], [1.0, 2.0]]])
def test_only_lists_of_numbers_are_vectors(encoded):
    with pytest.raises(InvalidInput, match="it"):
        READERS.read(Vectors, encoded, "it")


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        (Any, float("nan"), "it is nan, which JSON cannot represent"),
        (Mapping[str, Any], {"a": {1: 2}}, "the key 1; use a string as the key"),
        (Mapping[str, str], {1: "a"}, "the key 1; use a string as the key"),
        (Mapping[str, Any], {"a": {1}}, r"it\.a is of type set"),
        (Task, Task("t", "", "d", {"a": b"b"}), r"it\.context\.a is of type bytes"),
        (str | None, datetime(2026, 5, 1, tzinfo=UTC), "expected a string for it"),
        (Sequence[str], ["a", datetime(2026, 5, 1, tzinfo=UTC)], r"expected a string for it\[1\]"),
        (Sequence[int], b"ab", "in-process object"),
    ],
)
def test_what_json_cannot_hold_is_refused_before_it_is_sent(declared, value, message):
    with pytest.raises(InvalidInput, match=message):
        encode_as(declared, value, "it")


@pytest.mark.parametrize("number", [2**63, -(2**63), 10**400])
def test_whole_numbers_are_bounded(number):
    with pytest.raises(InvalidInput, match=r"expected a whole number below 2\*\*63 for it"):
        READERS.read(int, number, "it")
