"""Functions and generators that are done with by the time the call they are made for ends."""

from __future__ import annotations

import ast

from atlas.learning.analysis.occurrences import Located

CONSUMING = frozenset(
    {"all", "any", "dict", "frozenset", "list", "max", "min", "next", "set", "sorted", "sum", "tuple"}
)
"""Functions that go through their first argument at once. For `min` and `max` it has to be the only one."""

PASSING_ON = frozenset({"enumerate", "filter", "map", "zip"})
"""Functions that are done with what they are given when whoever is given their result is."""

REDUCE = "from functools import reduce"


def is_used_up(made: ast.Lambda | ast.GeneratorExp, program: Located) -> bool:
    """Return whether nothing holds a function or generator once the call that takes it is over."""
    if isinstance(made, ast.GeneratorExp):
        return _is_gone_through(made, program)
    parent, _ = program.parents[id(made)]
    if isinstance(parent, ast.keyword):
        return parent.arg == "key" and _sorts(program.parents[id(parent)][0], program)
    if not isinstance(parent, ast.Call) or not parent.args or parent.args[0] is not made:
        return False
    match program.purity.known(parent.func):
        case "map" | "filter":
            return _is_gone_through(parent, program)
        case name:
            return name == REDUCE


def _sorts(call: ast.AST, program: Located) -> bool:
    """Return whether a call calls its key for each item, and then never again."""
    match call:
        case ast.Call(func=ast.Attribute(attr="sort") as method):
            return program.purity.is_of_python(method)
        case ast.Call(func=function):
            return program.purity.known(function) in ("max", "min", "sorted")
    return False


def _is_gone_through(iterator: ast.AST, program: Located) -> bool:
    call, _ = program.parents[id(iterator)]
    if not isinstance(call, ast.Call) or not any(argument is iterator for argument in call.args):
        return False
    if isinstance(call.func, ast.Attribute):
        return call.func.attr == "join" and program.purity.is_pure(call)
    name = program.purity.known(call.func)
    if name in PASSING_ON:
        return _is_gone_through(call, program)
    if name == REDUCE:
        return call.args[1:2] == [iterator]
    return name in CONSUMING and call.args[0] is iterator and (len(call.args) == 1 or name not in ("max", "min"))
