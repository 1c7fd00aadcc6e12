"""A copy of `ast.walk` that is twice as fast. Compression spends most of its time walking syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_LEAVES = frozenset({ast.Constant, ast.Load, ast.Store, ast.Del})
"""The commonest types of nodes that have no nodes below them."""


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, breadth first. The caller may change a node that was yielded."""
    nodes = [tree]
    for node in nodes:  # which grows meanwhile
        if type(node) not in _LEAVES:
            values = node.__dict__
            for name in node._fields:
                value = values.get(name)
                if isinstance(value, ast.AST):
                    nodes.append(value)
                elif isinstance(value, list):
                    nodes += [item for item in value if isinstance(item, ast.AST)]
        yield node
