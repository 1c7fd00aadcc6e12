"""The one form of a function: simplified until nothing changes."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from atlas.learning.search.forms import blocks, loops
from atlas.learning.search.forms.expressions import simplified
from atlas.learning.search.forms.imports import Known, by_module
from atlas.learning.search.forms.nodes import bound_in, count_names, is_nested_deeply, text
from atlas.learning.search.forms.scopes import with_own_names
from atlas.learning.terms.names import Function, parameters_of

MAX_PASSES = 20
MAX_NODES = 1_500
"""Size of the code that is put into its form. Longer code is no idiom, and takes long."""

_RULES = (*blocks.RULES, *loops.RULES)


@dataclass(frozen=True, kw_only=True)
class Form:
    """A function's body in one form."""

    name: str
    parameters: tuple[str, ...]
    body: list[ast.stmt]
    """Nothing, where the code is too long or nested too deeply."""

    @property
    def value(self) -> ast.expr | None:
        """Expression that the function returns, where it does nothing else."""
        match self.body:
            case [ast.Return(value=ast.expr() as value)]:
                return value
        return None

    @cached_property
    def variables(self) -> frozenset[str]:
        """Names that the body binds, parameters aside, and those of its lambdas and inner functions."""
        return frozenset(bound_in(self.body) - set(self.parameters))

    @cached_property
    def outline(self) -> tuple[str, ...]:
        """Kinds of its statements and of their values, which code and a pattern that it fits have in common."""
        return tuple(map(_outline, self.body))

    @property
    def known(self) -> Known | None:
        """Code to stand in place of the function's calls, None where it binds variables, or returns in between."""
        nodes = [node for statement in self.body for node in ast.walk(statement)]
        if self.value is not None:
            return Known(parameters=self.parameters, body=self.body)
        is_plain = not any(
            isinstance(node, ast.Return | ast.Lambda | ast.FunctionDef | ast.comprehension)
            or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
            for node in nodes
        )
        return Known(parameters=self.parameters, body=self.body) if nodes and is_plain else None


def form_of(function: Function, known: Mapping[str, Known] | None = None, imports: Sequence[ast.stmt] = ()) -> Form:
    """Return the form of a function.

    Args:
        known: Functions by name whose work is put in place of their calls.
        imports: Statements before it that import what it uses.
    """
    parameters = tuple(parameters_of(function))
    n_nodes = sum(1 for statement in function.body for _ in ast.walk(statement))
    if n_nodes > MAX_NODES or is_nested_deeply(function.body):
        return Form(name=function.name, parameters=parameters, body=[])
    body = _simplified(by_module(copy.deepcopy(function.body), imports, known or {}))
    return Form(name=function.name, parameters=parameters, body=body)


def _outline(statement: ast.stmt) -> str:
    value = getattr(statement, "value", None)
    names = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    return f"{type(statement).__name__} {type(value).__name__} {names}"


def _simplified(body: list[ast.stmt]) -> list[ast.stmt]:
    for _ in range(MAX_PASSES):
        before = _text(body)
        body = [simplified(statement) for statement in body]
        body = _without_return(_Blocks(count_names(body)).rewritten(body))
        if _text(body) == before or sum(1 for one in body for _ in ast.walk(one)) > MAX_NODES:
            break
    return with_own_names(body)


def _text(body: list[ast.stmt]) -> str:
    return "\n".join(map(text, body))


def _without_return(body: list[ast.stmt]) -> list[ast.stmt]:
    """Leave out the return at the end that gives nothing."""
    match body:
        case [*rest, ast.Return(value=None | ast.Constant(value=None))] if rest:
            return rest
    return body


class _Blocks(ast.NodeTransformer):
    """The rules, applied to every block from its end, inner blocks first, each once a place."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, self.rewritten(value))
        return node

    def rewritten(self, block: list[ast.stmt]) -> list[ast.stmt]:
        for statement in block:
            self.visit(statement)
        rest: list[ast.stmt] = []
        for statement in reversed(block):
            rest = self._applied([statement, *rest])
        return rest

    def _applied(self, rest: list[ast.stmt]) -> list[ast.stmt]:
        for rule in _RULES:
            changed = rule(rest, self._counts)
            if changed is not None:
                return changed
        return rest
