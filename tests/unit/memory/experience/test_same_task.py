"""Telling whether two texts set the same task."""

from __future__ import annotations

import pytest

from atlas.memory.experience.same_task import significant_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Convert the given snake case string.", "convert a snake case string"),
        ("Swap the first and last elements in a list", "Swap the first and last element in the given list"),
        ("Mend the report, please!", "Mend the report"),
        ("Café", "Cafe\u0301"),
        ("a string -- with two dashes", "a string with two dashes"),
    ],
)
def test_what_does_not_matter_may_differ(one, other):
    assert significant_words(one) == significant_words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("put some pencil in desk 1", "put some pencil in desk 2"),
        ("put a pen in the desk", "put a mug in the desk"),
        ("Find the first repeated character", "Find the first non-repeated character"),
        ("Fly from LAS to DEN", "Fly from DEN to LAS"),
        ("Book it for $ 1,000", "Book it for $ 1,500"),
        ("Add 5", "Add -5"),
        ("Wait 1.5 s", "Wait 15 s"),
        ('Rename it "the report"', 'Rename it "report"'),
        ("Rename it 'Report'", "Rename it 'report'"),
        ("Open `a.py`", "Open `b.py`"),
        ("keep x >= 3", "keep x <= 3"),
        ("Rebook passenger Davis", "Rebook passenger Davi"),
        ("Do cancel it", "Do not cancel it"),
        ("Mend parse_url", "Mend parse_urls"),
    ],
)
def test_numbers_names_quotations_and_other_words_may_not_differ(one, other):
    assert significant_words(one) != significant_words(other)


def test_punctuation_alone_tells_nothing():
    assert significant_words("?! - ()...".replace("()", "")) == significant_words("") == ()
