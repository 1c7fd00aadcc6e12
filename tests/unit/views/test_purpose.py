"""What a concept does, in one sentence."""

from __future__ import annotations

import pytest

from atlas.learning.naming.documenter import DERIVATION_NOTE
from atlas.views.concepts.purpose import purpose_of


@pytest.mark.parametrize(
    ("description", "purpose", "rest"),
    [
        (f"Tells whether `number` is prime. Found in 3 programs, about prime. {DERIVATION_NOTE}",
         "Tells whether `number` is prime.", "Found in 3 programs, about prime."),
        (f"Returns the share: `items.count(1.5) / len(items)`. {DERIVATION_NOTE}",
         "Returns the share: `items.count(1.5) / len(items)`.", ""),
        ("Crops a grid to its content", "Crops a grid to its content", ""),
        ("Crops a grid.\n\nArgs:\n    grid: what to crop", "Crops a grid.", "Args:\n    grid: what to crop"),
        ("An `unfinished quotation. And more.", "An `unfinished quotation.", "And more."),
        ("", "", ""),
    ],
)  # fmt: skip
def test_the_first_sentence_is_told_apart_from_the_rest(description, purpose, rest):
    assert purpose_of(description) == (purpose, rest)
