"""Titles of strategies as a person reads them."""

from __future__ import annotations

import pytest

from atlas.views.strategies.titles import TITLE_CHARACTERS, readable_title


@pytest.mark.parametrize(
    ("title", "read"),
    [
        ("refund 7", "refund 7"),
        ("Cancel your flights from {place} to {place}", "Cancel your flights from … to …"),
        ("{id} {time}: since the {time} release customers get a blank page",
         "Since the … release customers get a blank page"),
        ("Four customers were charged twice on Friday: a client retried POST /charges after a {number} s time…",
         "Four customers were charged twice on Friday"),
        ("The archive holds 61k grids from five sources, many of them turned or mirrored cop…",
         "The archive holds 61k grids from five sources, many of them turned or mirrored …"),
        ("{id} {number}", "{id} {number}"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_title_is_read_as_one_clause_without_parameters(title, read):
    assert readable_title(title) == read


def test_no_title_is_longer_than_fits():
    assert len(readable_title("word " * 100)) <= TITLE_CHARACTERS + 2
