"""Calls of a function in programs: what they pass, and what becomes of the result."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from atlas.learning.terms.names import Function, identifiers
from atlas.learning.terms.parsing import parsed

MAX_USES = 10
"""Programs that are read."""

_KINDS = {str: "text", bool: "flag", int: "number", float: "number", complex: "number", bytes: "content"}
_PRODUCTS = {"len": "length", "range": "numbers", "sorted": "items", "list": "items", "set": "members", "str": "text"}


@dataclass(slots=True)
class Uses:
    """Counts of what calls of a function say, over the programs that hold them."""

    n_programs: int = 0
    arguments: list[Counter[str]] = field(default_factory=list)
    """Names of what is passed and how often, by position."""

    kinds: list[Counter[str]] = field(default_factory=list)
    """Words for what is passed without a name, such as `text` or `number`, by position."""

    types: list[Counter[str]] = field(default_factory=list)
    """Annotations of what is passed, where the programs have any, by position."""

    returns: Counter[str] = field(default_factory=Counter)
    """Annotations of the functions that return its result as it is."""

    names: set[str] = field(default_factory=set)
    """Every name in the programs, which the function may not take."""


def uses_of(name: str, arity: int, examples: Sequence[tuple[str, str]]) -> Uses:
    """Return what the programs say of the function that they call by this name.

    Args:
        examples: Pairs of a task's text and a program.
    """
    counters: list[list[Counter[str]]] = [[Counter() for _ in range(arity)] for _ in range(3)]
    uses = Uses(arguments=counters[0], kinds=counters[1], types=counters[2])
    for _, program in examples[:MAX_USES]:
        uses.n_programs += 1
        tree = parsed(program)
        if tree is not None:
            uses.names |= identifiers(tree)
            _read(tree, name, uses)
    uses.names.discard(name)
    return uses


def _read(tree: ast.Module, name: str, uses: Uses) -> None:
    for owner, statement, call in _calls(tree, name):
        given = _annotations(owner)
        for position, argument in enumerate(call.args[: len(uses.arguments)]):
            uses.arguments[position].update(_named(argument))
            uses.kinds[position].update(_kind(argument))
            uses.types[position].update(_typed(argument, given))
        if isinstance(statement, ast.Return) and statement.value is call and owner is not None and owner.returns:
            uses.returns[ast.unparse(owner.returns)] += 1


def _calls(tree: ast.Module, name: str) -> Iterator[tuple[Function | None, ast.stmt, ast.Call]]:
    """Yield each call with its statement and innermost function, but for those in the function itself."""
    waiting: list[tuple[ast.AST, Function | None, ast.stmt]] = [(node, None, node) for node in tree.body]
    while waiting:
        node, owner, statement = waiting.pop()
        if isinstance(node, Function):
            if node.name == name:
                continue
            owner = node
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield owner, statement, node
        waiting += [(child, owner, statement) for child in ast.iter_child_nodes(node)]


def _annotations(owner: Function | None) -> dict[str, str]:
    arguments = [] if owner is None else [*owner.args.posonlyargs, *owner.args.args, *owner.args.kwonlyargs]
    return {arg.arg: ast.unparse(arg.annotation) for arg in arguments if arg.annotation is not None}


def _named(argument: ast.expr) -> list[str]:
    """Return the name of an argument, where it has one."""
    match argument:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
        case ast.Subscript(value=ast.Name(id=name)) if name.endswith("s") and len(name) > 3:
            return [name[:-1]]
    return []


def _kind(argument: ast.expr) -> list[str]:
    """Return a word for what an argument is that has no name."""
    match argument:
        case ast.Constant(value=value) if type(value) in _KINDS:
            return [_KINDS[type(value)]]
        case ast.Lambda():
            return ["function"]
        case ast.Call(func=ast.Name(id=name)) if name in _PRODUCTS:
            return [_PRODUCTS[name]]
        case ast.List() | ast.ListComp() | ast.Tuple():
            return ["items"]
        case ast.Dict() | ast.DictComp():
            return ["mapping"]
        case ast.BinOp() | ast.UnaryOp():
            return ["number"]
    return []


def _typed(argument: ast.expr, given: dict[str, str]) -> list[str]:
    match argument:
        case ast.Name(id=name) if name in given:
            return [given[name]]
        case ast.Constant(value=value) if type(value) in _KINDS:
            return [type(value).__name__]
        case ast.Call(func=ast.Name(id="len")):
            return ["int"]
    return []


def returned_type(function: Function, uses: Uses) -> str:
    """Return the annotation of the function's result, its own or what its uses agree on, empty where there is none."""
    if function.returns is not None:
        return ast.unparse(function.returns)
    return uses.returns.most_common(1)[0][0] if uses.returns else ""
