"""Calls of a function in programs: their arguments, and how the result is used."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from atlas.learning.terms.names import Function, identifiers
from atlas.learning.terms.parsing import try_parse

MAX_USES = 10
"""Largest number of programs that are read."""

_CONSTANT_KINDS = {str: "text", bool: "flag", int: "number", float: "number", complex: "number", bytes: "content"}
_RESULT_KINDS = {
    "len": "length",
    "range": "numbers",
    "sorted": "items",
    "list": "items",
    "set": "members",
    "str": "text",
}


@dataclass(slots=True)
class Uses:
    """Counts of the argument names and types in the calls of a function, over all programs."""

    n_programs: int = 0
    arguments: list[Counter[str]] = field(default_factory=list)
    """Names of the arguments and their counts, keyed by position."""

    kinds: list[Counter[str]] = field(default_factory=list)
    """Words for the kinds of arguments that have no name, such as `text` or `number`, keyed by position."""

    types: list[Counter[str]] = field(default_factory=list)
    """Annotations of the arguments, where the programs have any, keyed by position."""

    returns: Counter[str] = field(default_factory=Counter)
    """Annotations of the results of functions that return the called function's result unchanged."""

    names: set[str] = field(default_factory=set)
    """All other names in the programs, which neither the function nor its parameters may have."""


def find_uses(name: str, arity: int, examples: Sequence[tuple[str, str]]) -> Uses:
    """Return the names and types that programs use when they call a function.

    Args:
        examples: Pairs of a task's text and a program.
    """
    counters: list[list[Counter[str]]] = [[Counter() for _ in range(arity)] for _ in range(3)]
    uses = Uses(arguments=counters[0], kinds=counters[1], types=counters[2])
    for _, program in examples[:MAX_USES]:
        uses.n_programs += 1
        tree = try_parse(program)
        if tree is not None:
            uses.names |= identifiers(tree)
            _count_calls(tree, name, uses)
    uses.names.discard(name)
    return uses


def _count_calls(tree: ast.Module, name: str, uses: Uses) -> None:
    """Add the arguments and results of all calls of a function in a program to its uses."""
    for owner, statement, call in _calls(tree, name):
        annotations = _annotations(owner)
        for position, argument in enumerate(call.args[: len(uses.arguments)]):
            uses.arguments[position].update(_argument_names(argument))
            uses.kinds[position].update(_argument_kinds(argument))
            uses.types[position].update(_argument_types(argument, annotations))
        if isinstance(statement, ast.Return) and statement.value is call and owner is not None and owner.returns:
            uses.returns[ast.unparse(owner.returns)] += 1


def _calls(tree: ast.Module, name: str) -> Iterator[tuple[Function | None, ast.stmt, ast.Call]]:
    """Yield the innermost function, the innermost statement and the call, for each call that is not recursive."""
    stack: list[tuple[ast.AST, Function | None, ast.stmt]] = [(node, None, node) for node in tree.body]
    while stack:
        node, owner, statement = stack.pop()
        if isinstance(node, Function):
            if node.name == name:
                continue
            owner = node
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield owner, statement, node
        stack += [(child, owner, statement) for child in ast.iter_child_nodes(node)]


def _annotations(owner: Function | None) -> dict[str, str]:
    arguments = [] if owner is None else [*owner.args.posonlyargs, *owner.args.args, *owner.args.kwonlyargs]
    return {arg.arg: ast.unparse(arg.annotation) for arg in arguments if arg.annotation is not None}


def _argument_names(argument: ast.expr) -> list[str]:
    """Return a list with the name of an argument. Empty for an argument without a name."""
    match argument:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
        case ast.Subscript(value=ast.Name(id=name)) if name.endswith("s") and len(name) > 3:
            return [name[:-1]]
    return []


def _argument_kinds(argument: ast.expr) -> list[str]:
    """Return a list with a word for the kind of an argument, such as `text`. Empty for an argument of unknown kind."""
    match argument:
        case ast.Constant(value=value) if type(value) in _CONSTANT_KINDS:
            return [_CONSTANT_KINDS[type(value)]]
        case ast.Lambda():
            return ["function"]
        case ast.Call(func=ast.Name(id=name)) if name in _RESULT_KINDS:
            return [_RESULT_KINDS[name]]
        case ast.List() | ast.ListComp() | ast.Tuple():
            return ["items"]
        case ast.Dict() | ast.DictComp():
            return ["mapping"]
        case ast.BinOp() | ast.UnaryOp():
            return ["number"]
    return []


def _argument_types(argument: ast.expr, annotations: dict[str, str]) -> list[str]:
    match argument:
        case ast.Name(id=name) if name in annotations:
            return [annotations[name]]
        case ast.Constant(value=value) if type(value) in _CONSTANT_KINDS:
            return [type(value).__name__]
        case ast.Call(func=ast.Name(id="len")):
            return ["int"]
    return []


def returned_type(function: Function, uses: Uses) -> str:
    """Return the function's return annotation. Without one, return the type that the uses agree on, or ''."""
    if function.returns is not None:
        return ast.unparse(function.returns)
    if not uses.returns:
        return ""
    [(annotation, _)] = uses.returns.most_common(1)
    return annotation
