"""Names for parameters, from what the code does with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from atlas.learning.terms.names import Function
from atlas.learning.terms.walking import walk

_TEXT_METHODS = frozenset(
    [
        "capitalize",
        "casefold",
        "endswith",
        "isalnum",
        "isalpha",
        "isdigit",
        "islower",
        "isspace",
        "isupper",
        "lower",
        "lstrip",
        "replace",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "upper",
    ]
)
_MAPPING_METHODS = frozenset({"get", "items", "keys", "popitem", "setdefault", "values"})
_LIST_METHODS = frozenset({"append", "extend", "insert", "sort", "reverse", "pop", "remove"})
_NUMBER_FUNCTIONS = frozenset({"abs", "bin", "chr", "divmod", "hex", "pow", "round"})
_ITERABLE_FUNCTIONS = frozenset(
    "all any enumerate filter frozenset len list map max min reversed set sorted sum tuple zip".split()  # noqa: SIM905
)


_NUMBER_OPERATORS = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


def role_of(function: Function, parameter: str) -> str:
    """Return a name for a parameter by its role in the code, or `value`."""
    roles = [role for node in walk(function) for role in _roles(node, parameter)]
    return next((role for role in _PREFERENCE if role in roles), "value")


_PREFERENCE = ("function", "mapping", "text", "items", "index", "n", "number", "other")
"""Roles in order of preference, for a parameter with several."""


def _roles(node: ast.AST, parameter: str) -> Iterator[str]:
    """Yield the roles of a name in one node."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=args):
            yield from ["function"] * (name == parameter)
            yield from _roles_as_argument(name) if _is_in(parameter, args) else ()
        case ast.Attribute(value=value, attr=attribute) if _is_in(parameter, [value]):
            yield from _roles_as_receiver(attribute)
        case ast.For(iter=value) | ast.comprehension(iter=value) if _is_in(parameter, [value]):
            yield "items"
        case ast.Subscript(value=value, slice=position):
            yield from ["items"] * _is_in(parameter, [value])
            yield from ["index"] * _is_in(parameter, [position])
        case ast.BinOp(op=operator, left=left, right=right) if isinstance(operator, _NUMBER_OPERATORS):
            yield from ["number"] * (_is_in(parameter, [left, right]) and not isinstance(left, ast.Constant))
        case ast.Compare(left=left, comparators=[*others]):
            yield from ["other"] * _is_in(parameter, [left, *others])


def _roles_as_argument(name: str) -> Iterator[str]:
    if name in _ITERABLE_FUNCTIONS:
        yield "items"
    elif name == "range":
        yield "n"
    elif name == "ord":
        yield "text"
    elif name in _NUMBER_FUNCTIONS:
        yield "number"


def _roles_as_receiver(attribute: str) -> Iterator[str]:
    if attribute in _TEXT_METHODS:
        yield "text"
    elif attribute in _MAPPING_METHODS:
        yield "mapping"
    elif attribute in _LIST_METHODS:
        yield "items"


def _is_in(name: str, nodes: list[ast.expr]) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes)
