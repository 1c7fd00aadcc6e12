"""Imported names in one form, and functions known by name replaced by what they do."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atlas.learning.search.forms.nodes import load, substituted


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Code of a function, to be put in place of its calls."""

    parameters: tuple[str, ...]
    body: Sequence[ast.stmt]
    """One return, or statements that bind no variable and return nothing."""


_USUAL = {"np": "numpy", "pd": "pandas"}
"""Names that modules are usually imported by, where the import is not to be seen."""


def by_module(body: list[ast.stmt], imports: Sequence[ast.stmt], known: Mapping[str, Known]) -> list[ast.stmt]:
    """Return statements that name what is imported as `module.name`, and do what known functions do."""
    names = {short: _dotted(module) for short, module in _USUAL.items()}
    for node in (node for statement in (*imports, *body) for node in ast.walk(statement)):
        match node:
            case ast.ImportFrom(module=str(module), names=imported, level=0):
                names |= {one.asname or one.name: _dotted(f"{module}.{one.name}") for one in imported}
            case ast.Import(names=imported):
                names |= {one.asname: _dotted(one.name) for one in imported if one.asname}
    module_of_all = ast.Module([substituted(statement, names) for statement in body], [])
    _Inlining(known).visit(module_of_all)
    return module_of_all.body


def _dotted(name: str) -> ast.expr:
    first, *others = name.split(".")
    value: ast.expr = load(first)
    for attribute in others:
        value = ast.Attribute(value, attribute, ast.Load())
    return value


class _Inlining(ast.NodeTransformer):
    def __init__(self, known: Mapping[str, Known]) -> None:
        self._known = known

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match self._body(node):
            case [ast.Return(value=ast.expr() as value)]:
                return value
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        match self._body(node.value):
            case [*statements] if statements and not isinstance(statements[0], ast.Return):
                return statements
        return node

    def _body(self, node: ast.expr) -> list[ast.stmt]:
        """Return what a call does, nothing where that is not known."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in self._known:
                known = self._known[name]
                if len(args) == len(known.parameters):
                    values = dict(zip(known.parameters, args, strict=True))
                    return [substituted(copy.deepcopy(statement), values) for statement in known.body]
        return []
