"""The quick walk over a syntax tree agrees with Python's own."""

from __future__ import annotations

import ast

import pytest

from atlas.learning.terms.walking import walk
from tests.support.repository import REPOSITORY

FILES = sorted((REPOSITORY / "atlas" / "learning" / "terms").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_reaches_each_node_in_the_order_of_python(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert list(map(id, walk(tree))) == list(map(id, ast.walk(tree)))


def test_a_node_that_was_made_without_some_of_its_fields_is_walked():
    tree = ast.Return()
    assert list(walk(tree)) == [tree]


def test_a_node_that_is_changed_once_it_was_yielded_does_not_change_the_walk():
    tree = ast.parse("first(second)")
    names = []
    for node in walk(tree):
        names += [node.id] if isinstance(node, ast.Name) else []
        if isinstance(node, ast.Call):
            node.args = []
    assert names == ["first", "second"]
