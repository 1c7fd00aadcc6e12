"""In which order and how often the holes of an abstraction are evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from atlas.library_learning.flows import Flows, Names, elements
from atlas.library_learning.scopes import COMPREHENSIONS

# fmt: off
PURE_FUNCTIONS = frozenset({
    "abs", "all", "any", "bin", "bool", "chr", "complex", "dict", "divmod", "enumerate", "filter", "float",
    "frozenset", "hash", "hex", "int", "isinstance", "len", "list", "map", "max", "min", "oct", "ord", "pow",
    "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "type", "zip",
})
PURE_METHODS = frozenset({
    "capitalize", "casefold", "copy", "count", "difference", "encode", "endswith", "find", "format", "get",
    "index", "intersection", "isalnum", "isalpha", "isdecimal", "isdigit", "islower", "isnumeric", "isspace",
    "istitle", "isupper", "items", "join", "keys", "lower", "lstrip", "partition", "replace", "rfind", "rindex",
    "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title",
    "translate", "union", "upper", "values", "zfill",
})
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One place where a hole stands."""

    is_lazy: bool
    """Evaluated not at all or several times, or at a time that only the code around it knows."""

    effects: bool
    """Whether anything before it may change what it evaluates to."""

    bound: Names
    """The variables that the abstraction has surely given a value before."""


def positions(nodes: Iterable[ast.AST], holes: Mapping[int, int], flows: Flows) -> dict[int, list[Position]]:
    """Where each hole stands, in the order of evaluation.

    Args:
        holes: The number of each hole, by the `id` of its node.
    """
    walk = _Walk(holes, flows)
    walk.all(nodes)
    return walk.found


class _Walk:
    def __init__(self, holes: Mapping[int, int], flows: Flows) -> None:
        self._holes = holes
        self._flows = flows
        self._now = Position(is_lazy=False, effects=False, bound=frozenset())
        self.found: dict[int, list[Position]] = {}

    def all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node)

    def _visit(self, node: ast.AST) -> None:
        if id(node) in self._holes:
            self.found.setdefault(self._holes[id(node)], []).append(self._now)
        elif isinstance(node, ast.stmt):
            self._statement(node)
        else:
            self._expression(node)

    def _lazily(self, nodes: Iterable[ast.AST | None], bound: Names = frozenset()) -> None:
        """What is bound inside is not outside; what it may have done is."""
        before = self._now
        self._now = replace(before, is_lazy=True, bound=before.bound | bound)
        self.all(nodes)
        self._now = replace(before, effects=self._now.effects)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                self.all([node.value, *node.targets])
            case ast.If():
                self.all([node.test])
                self._lazily(node.body)
                self._lazily(node.orelse)
            case ast.For():
                self.all([node.iter])
                self._lazily([node.target, *node.body], self._flows.bound(node.target))
                self._lazily(node.orelse)
            case ast.While():
                self._lazily([node.test, *node.body])
                self._lazily(node.orelse)
            case ast.With():
                self.all(node.items)
                self._lazily(node.body)
            case ast.AugAssign():  # what it changes in place may have other names as well
                self.all(ast.iter_child_nodes(node))
                self._now = replace(self._now, effects=True)
            case ast.Try():
                self._lazily([*node.body, *node.handlers, *node.orelse, *node.finalbody])
            case _:
                self.all(ast.iter_child_nodes(node))
        self._after(node)

    def _after(self, node: ast.stmt) -> None:
        """What follows a statement that may leave is evaluated only where it did not."""
        leaves = any(isinstance(part, (ast.Return, ast.Raise, ast.Assert, ast.Break)) for part in ast.walk(node))
        bound = self._now.bound | self._flows.of_node(node).written
        self._now = replace(self._now, is_lazy=self._now.is_lazy or leaves, bound=bound)

    def _expression(self, node: ast.AST) -> None:
        match node:
            case ast.IfExp():
                self.all([node.test])
                self._lazily([node.body, node.orelse])
            case ast.BoolOp():
                self.all(node.values[:1])
                self._lazily(node.values[1:])
            case ast.Compare():
                self.all([node.left, *node.comparators[:1]])
                self._lazily(node.comparators[1:])
            case ast.Lambda():
                self.all([node.args])
                self._lazily([node.body], self._flows.bound(node.args))
            case _ if isinstance(node, COMPREHENSIONS):
                self._comprehension(node)
            case _:
                self.all(ast.iter_child_nodes(node))
        if not is_pure_node(node):
            self._now = replace(self._now, effects=True)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self.all([node.generators[0].iter])
        bound: Names = frozenset()
        for number, generator in enumerate(node.generators):
            if number:
                self._lazily([generator.iter], bound)
            bound |= self._flows.bound(generator.target)
            self._lazily([generator.target, *generator.ifs], bound)
        self._lazily(elements(node), bound)


def is_pure_node(node: ast.AST) -> bool:
    """Whether evaluating just this, after its parts, changes nothing that other code could see."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in PURE_FUNCTIONS
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in PURE_METHODS
        case ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
            return False
        case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
            return False
    return True


def is_atomic(node: ast.AST) -> bool:
    """Whether it may be evaluated at any time and any number of times: a constant or a name."""
    match node:
        case ast.Constant() | ast.Name():
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
    return False


def is_repeatable(node: ast.AST) -> bool:
    """Whether evaluating it once instead of twice in a row makes no difference: pure, and nothing new is made."""
    making = (ast.List, ast.Dict, ast.Set, ast.Lambda, *COMPREHENSIONS)
    return not any(isinstance(part, making) or not is_repeatable_node(part) for part in ast.walk(node))


def is_repeatable_node(node: ast.AST) -> bool:
    """Numbers and texts may be shared; what else a call makes may be changed by whoever has it."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in {"len", "abs", "int", "float", "str", "ord", "chr"}
    return is_pure_node(node)
