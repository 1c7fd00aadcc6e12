"""Lambdas and generators that are not used after the call they are passed to has returned."""

from __future__ import annotations

import ast

from atlas.learning.analysis.occurrences import ProgramTree

CONSUMERS = frozenset(
    {"all", "any", "dict", "frozenset", "list", "max", "min", "next", "set", "sorted", "sum", "tuple"}
)
"""Functions that consume their first argument eagerly. `min` and `max` do so only with a single argument."""

LAZY_ADAPTERS = frozenset({"enumerate", "filter", "map", "zip"})
"""Lazy functions, which consume their argument while their own result is consumed."""

REDUCE = "from functools import reduce"


def is_consumed(node: ast.Lambda | ast.GeneratorExp, program: ProgramTree) -> bool:
    """Return whether a lambda or generator is used by the call that it is passed to, and not after that call."""
    if isinstance(node, ast.GeneratorExp):
        return _is_exhausted_by_call(node, program)
    parent, _ = program.parents[id(node)]
    if isinstance(parent, ast.keyword):
        return parent.arg == "key" and _is_sorting_call(program.parents[id(parent)][0], program)
    if not isinstance(parent, ast.Call) or not parent.args or parent.args[0] is not node:
        return False
    match program.purity.resolve(parent.func):
        case "map" | "filter":
            return _is_exhausted_by_call(parent, program)
        case name:
            return name == REDUCE


def _is_sorting_call(call: ast.AST, program: ProgramTree) -> bool:
    """Return whether a call is `sorted`, `min`, `max` or `list.sort`, which do not keep their `key` function."""
    match call:
        case ast.Call(func=ast.Attribute(attr="sort") as method):
            return program.purity.is_builtin_method(method)
        case ast.Call(func=function):
            return program.purity.resolve(function) in ("max", "min", "sorted")
    return False


def _is_exhausted_by_call(iterator: ast.AST, program: ProgramTree) -> bool:
    """Return whether an iterator is passed to a call that reads it to its end, directly or through lazy adapters."""
    call, _ = program.parents[id(iterator)]
    if not isinstance(call, ast.Call) or not any(argument is iterator for argument in call.args):
        return False
    if isinstance(call.func, ast.Attribute):
        return call.func.attr == "join" and program.purity.is_pure(call)
    name = program.purity.resolve(call.func)
    if name in LAZY_ADAPTERS:
        return _is_exhausted_by_call(call, program)
    if name == REDUCE:
        return call.args[1:2] == [iterator]
    if name in ("max", "min") and len(call.args) > 1:
        return False
    return name in CONSUMERS and call.args[0] is iterator
