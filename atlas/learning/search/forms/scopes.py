"""Renaming of the variables of comprehensions, so that each has a unique name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import count

from atlas.learning.search.forms.nodes import Comprehension, load_name, substitute
from atlas.learning.terms.walking import walk


def with_unique_names(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements in which the variables of every comprehension have unique names."""
    renamer = _Renamer()
    return [renamer.visit(statement) for statement in body]


class _Renamer(ast.NodeTransformer):
    def __init__(self) -> None:
        self._numbers = count()

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._rename(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return self._rename(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._rename(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        return self._rename(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.generic_visit(node)
        names = {arg.arg: f"each_{next(self._numbers)}" for arg in node.args.args}
        body = substitute(node.body, {old: load_name(new) for old, new in names.items()})
        for arg in node.args.args:
            arg.arg = names[arg.arg]
        return ast.Lambda(node.args, body)

    def _rename(self, node: Comprehension) -> ast.expr:
        """Return a comprehension whose variables have new unique names.

        The first iterable is evaluated outside of the comprehension, so the names in it stay.
        """
        self.generic_visit(node)
        outer_iterable = node.generators[0].iter
        node.generators[0].iter = ast.Constant(None)  # hides it from `substitute`
        names = {name: f"each_{next(self._numbers)}" for name in _targets(node)}
        renamed = substitute(node, {old: load_name(new) for old, new in names.items()})  # renames what is read only
        for generator in renamed.generators:
            for target in walk(generator.target):
                if isinstance(target, ast.Name):
                    target.id = names.get(target.id, target.id)
        renamed.generators[0].iter = outer_iterable
        return renamed


def _targets(node: Comprehension) -> Iterator[str]:
    nodes = (inner for generator in node.generators for inner in walk(generator.target))
    return iter(dict.fromkeys(inner.id for inner in nodes if isinstance(inner, ast.Name)))
