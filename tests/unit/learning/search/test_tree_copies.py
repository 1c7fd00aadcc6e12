"""Copies of syntax trees."""

from __future__ import annotations

import ast

from atlas.learning.search.forms.nodes import copy_tree

CODE = "def f(a, *, b=None):\n    with a as (x, y):\n        return [x[b:], {**y}, f'{a!r:>{b}}', ..., 1j, b'']\n"


def test_a_copy_equals_its_tree_with_all_positions() -> None:
    tree = ast.parse(CODE)
    assert ast.dump(copy_tree(tree), include_attributes=True) == ast.dump(tree, include_attributes=True)


def test_a_change_of_a_copy_leaves_its_tree_unchanged() -> None:
    tree = ast.parse(CODE)
    before = ast.dump(tree)
    for node in ast.walk(copy_tree(tree)):
        for name, value in list(vars(node).items()):
            if isinstance(value, list):
                value.clear()
            else:
                setattr(node, name, None)
    assert ast.dump(tree) == before
