"""The sentence that says why compressing gave no function."""

from __future__ import annotations

import pytest

from atlas.learning.reasons import explain_empty_result
from atlas.learning.rewrite.gates import NO_SAVING, SINGLE_OPERATION


@pytest.mark.parametrize(
    ("n_attempts", "n_programs", "dropped", "refused", "sentence"),
    [
        (0, 0, {}, {}, "no Python program to compress in 0 attempts"),
        (
            12,
            0,
            {"the attempt has no solution": 11},
            {"program: looks up names by string": 1},
            "no Python program to compress in 12 attempts: "
            "the attempt has no solution (11), looks up names by string (1)",
        ),
        (1, 1, {}, {}, "only one program, but a function has to occur in programs of at least two tasks"),
        (4, 4, {}, {}, "no code that two tasks share in 4 programs"),
        (
            4,
            4,
            {},
            {"line: an assertion": 3, "line: a print": 1},
            "no code that two tasks share in 4 programs; 4 top-level assertions and prints were "
            "not searched, as the agent's own checks",
        ),
        (
            2,
            2,
            {},
            {"line: an assertion": 1, NO_SAVING: 1},
            "nothing worth keeping in 2 programs: 1 function refused, makes programs and library no shorter (1); 1 "
            "top-level assertion or print was not searched, as the agent's own checks",
        ),
        (
            1_200,
            1_000,
            {},
            {NO_SAVING: 1, SINGLE_OPERATION: 7, "has Yield": 2, "has Await": 1, "has Match": 1},
            "nothing worth keeping in 1,000 programs: 12 functions refused, one call or operation under another name "
            "(7), has Yield (2), makes programs and library no shorter (1), other reasons (2)",
        ),
    ],
)
def test_it_names_the_most_frequent_reasons(n_attempts, n_programs, dropped, refused, sentence):
    assert explain_empty_result(n_attempts, n_programs, dropped, refused) == sentence
