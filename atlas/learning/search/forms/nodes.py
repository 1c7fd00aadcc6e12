"""Predicates on syntax trees and small transformations, which all canonical forms use."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

from atlas.learning.terms.walking import walk

Node = TypeVar("Node", bound=ast.AST)

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

MAX_DEPTH = 60
"""Largest depth of code that is normalised or described."""

_MUTATING_METHODS = frozenset(
    """
    append add extend insert pop popleft appendleft remove discard clear update setdefault popitem sort reverse write
    intersection_update difference_update symmetric_difference_update rotate
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)
"""Methods of Python's own types that change their object."""

METHODS_RETURNING_NONE = frozenset({"append", "extend", "insert", "reverse", "sort"})
"""Methods of lists that change the list and return None."""

_BOOLEAN_FUNCTIONS = frozenset({"all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"})
_BOOLEAN_METHODS = frozenset(
    """
    startswith endswith isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace
    istitle isupper issubset issuperset isdisjoint is_integer
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.LtE: ast.Gt, ast.Gt: ast.LtE},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
}


def is_same_code(node: ast.AST | None, other: ast.AST | None) -> bool:
    """Return whether two trees are equal, ignoring positions and contexts."""
    return tree_key(node) == tree_key(other)


def tree_key(node: ast.AST | None) -> str:
    """Return a string that is equal for equal trees. Positions and contexts are ignored."""
    return "" if node is None else ast.dump(node).replace("ctx=Store()", "ctx=Load()")


def is_nested_deeply(nodes: Iterable[ast.AST]) -> bool:
    """Return whether code is nested so deeply that walking down into it may use up the stack."""
    stack = [(node, 1) for node in nodes]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            return True
        stack += [(child, depth + 1) for child in ast.iter_child_nodes(node)]
    return False


def count_names(nodes: Iterable[ast.AST]) -> Counter[str]:
    """Return how often each name is read or bound."""
    inner = (inner for node in nodes for inner in walk(node))
    return Counter(node.id for node in inner if isinstance(node, ast.Name))


def count_occurrences(node: ast.AST, name: str) -> int:
    """Return how often a name occurs in a tree."""
    return count_names([node])[name]


def changed_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that code binds, and the names of objects that it visibly changes."""
    names: set[str] = set()
    for node in (inner for tree in nodes for inner in walk(tree)):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store()):
                names.add(root_name(node))
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _MUTATING_METHODS:
                names.add(root_name(owner))
    return names


def root_name(node: ast.expr) -> str:
    """Return `a` for `a`, `a[i]`, `a.b` and longer chains, and an empty string for any other expression."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_repeatable(value: ast.expr) -> bool:
    """Return whether an expression can be evaluated again with the same result and no side effect.

    Calls are judged by the name of the function.
    """
    for node in walk(value):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name not in _REPEATABLE:
                return False
            case ast.Call(func=ast.Attribute(attr=method)) if method in _MUTATING_METHODS:
                return False
            case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.NamedExpr() | ast.GeneratorExp():
                return False
    return True


_REPEATABLE = frozenset(
    """
    abs all any bin bool chr dict divmod float frozenset hash hex int isinstance len list max min oct ord pow range
    repr round set sorted str sum tuple type
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)


def is_boolean(value: ast.expr) -> bool:
    """Return whether a value is always True or False."""
    match value:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool()):
            return True
        case ast.BoolOp(values=values):
            return all(map(is_boolean, values))
        case ast.IfExp(body=body, orelse=other):
            return is_boolean(body) and is_boolean(other)
        case ast.Call(func=ast.Name(id=name)):
            return name in _BOOLEAN_FUNCTIONS
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _BOOLEAN_METHODS
    return False


def negate(test: ast.expr) -> ast.expr:
    """Return the negation of a test, with an opposite operator instead of `not` where there is one."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return to_boolean(inner)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return ast.Compare(left, [_OPPOSITES[type(operator)]()], [right])
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
    return ast.UnaryOp(ast.Not(), test)


def to_boolean(value: ast.expr) -> ast.expr:
    """Return an expression whose value is True or False, according to the truth value of another expression."""
    return value if is_boolean(value) else call("bool", value)


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """Return a call of the named function."""
    return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])


def load_name(name: str) -> ast.Name:
    """Return a node that reads a name."""
    return ast.Name(name, ast.Load())


def copy_tree(node: Node) -> Node:
    """Return a copy of a tree. This is three times as fast as `copy.deepcopy`."""
    copied = type(node).__new__(type(node))  # a call without the fields is deprecated
    for name, value in vars(node).items():
        if isinstance(value, list):
            setattr(copied, name, [copy_tree(part) if isinstance(part, ast.AST) else part for part in value])
        else:
            setattr(copied, name, copy_tree(value) if isinstance(value, ast.AST) else value)
    return copied


def substitute(node: Node, values: Mapping[str, ast.expr]) -> Node:
    """Return a copy of a tree with values in place of the names that it reads."""
    result: Node = _Substitution(values).visit(copy_tree(node))
    return result


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._values:
            return copy_tree(self._values[node.id])
        return node
