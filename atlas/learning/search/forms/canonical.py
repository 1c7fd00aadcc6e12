"""The canonical form of a function: its body, simplified until it no longer changes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from atlas.learning.search.forms import blocks, loops
from atlas.learning.search.forms.expressions import simplify
from atlas.learning.search.forms.imports import qualify_names
from atlas.learning.search.forms.nodes import copy_tree, count_names, is_nested_deeply, tree_key
from atlas.learning.search.forms.scopes import with_unique_names
from atlas.learning.terms.names import Function
from atlas.learning.terms.walking import walk

MAX_PASSES = 20
MAX_NODES = 1_500
"""Largest size of code that is made canonical. Longer code would take too long."""

_RULES = (*blocks.RULES, *loops.RULES)


def canonical_body(function: Function, imports: Sequence[ast.stmt] = ()) -> list[ast.stmt]:
    """Return the canonical body of a function, or an empty list if the body is too long or nested too deeply.

    Args:
        imports: Import statements before the function, for the names that it uses.
    """
    n_nodes = sum(1 for statement in function.body for _ in walk(statement))
    if n_nodes > MAX_NODES or is_nested_deeply(function.body):
        return []
    return _simplify(qualify_names([copy_tree(statement) for statement in function.body], imports))


def _simplify(body: list[ast.stmt]) -> list[ast.stmt]:
    for _ in range(MAX_PASSES):
        previous_text = _body_text(body)
        body = [simplify(statement) for statement in body]
        body = _drop_final_return_none(_BlockRewriter(count_names(body)).rewrite(body))
        if _body_text(body) == previous_text or sum(1 for part in body for _ in walk(part)) > MAX_NODES:
            break
    return with_unique_names(body)


def _body_text(body: list[ast.stmt]) -> str:
    return "\n".join(map(tree_key, body))


def _drop_final_return_none(body: list[ast.stmt]) -> list[ast.stmt]:
    """Remove a final `return None`."""
    match body:
        case [*rest, ast.Return(value=None | ast.Constant(value=None))] if rest:
            return rest
    return body


class _BlockRewriter(ast.NodeTransformer):
    """A transformer that applies the rules to every block, inner blocks first, from the last statement to the first."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, self.rewrite(value))
        return node

    def rewrite(self, block: list[ast.stmt]) -> list[ast.stmt]:
        for statement in block:
            self.visit(statement)
        remaining: list[ast.stmt] = []
        for statement in reversed(block):
            remaining = self._apply_rules([statement, *remaining])
        return remaining

    def _apply_rules(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        for rule in _RULES:
            changed = rule(statements, self._counts)
            if changed is not None:
                return changed
        return statements
