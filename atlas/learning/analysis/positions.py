"""The order in which the holes of an abstraction are evaluated, and how often."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from atlas.learning.analysis.purity import Purity, names_in
from atlas.learning.analysis.variables import Flows, Names, elements
from atlas.learning.terms.scopes import COMPREHENSIONS

HANDING = (ast.Constant, ast.expr_context, ast.keyword, ast.Lambda, ast.List, ast.Name, ast.Tuple)
"""Classes of syntax that only hand on what their parts give, without looking into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One place where a hole stands."""

    is_lazy: bool
    """True if it is evaluated not at all or several times, or at a time that only the code around it knows."""

    effects: bool
    """True if anything before it may change what it evaluates to."""

    bound: Names
    """Variables that the abstraction has surely given a value before."""

    looked: Names = frozenset()
    """Names whose objects something before it has looked into, so that a change of these would come too early."""

    may_raise: bool = False
    """True if anything before it may raise an exception."""


def positions(
    nodes: Iterable[ast.AST], holes: Mapping[int, int], flows: Flows, purity: Purity
) -> dict[int, list[Position]]:
    """Return where each hole stands, in the order of evaluation.

    Args:
        holes: The number of each hole, by the `id` of its node.
    """
    walk = _Walk(holes, flows, purity)
    walk.all(nodes)
    return walk.found


def reading_order(nodes: Iterable[ast.AST], holes: Mapping[int, int], variables: Mapping[str, int]) -> list[int]:
    """Return holes and variables in the order in which a reader of the code meets them, each once.

    Of a comprehension, what it goes over comes before what it makes.

    Args:
        holes: The number of each hole, by the `id` of its node.
        variables: The number of each variable.
    """
    found: dict[int, None] = {}
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        if id(node) in holes:
            found[holes[id(node)]] = None
        elif isinstance(node, ast.Name | ast.arg):
            number = variables.get(node.id if isinstance(node, ast.Name) else node.arg)
            found |= {} if number is None else {number: None}
        else:
            children = sorted(ast.iter_child_nodes(node), key=lambda child: not isinstance(child, ast.comprehension))
            waiting += children[::-1]
    return list(found)


def may_come_before(argument: ast.AST, position: Position, purity: Purity) -> bool:
    """Return whether the code before a position does the same after an argument, because it has changed nothing."""
    if position.may_raise and purity.tells_exceptions_apart:
        return False
    if purity.acts(argument):
        return not position.looked and not position.may_raise
    return not position.looked & purity.used_up_by(argument)


class _Walk:
    def __init__(self, holes: Mapping[int, int], flows: Flows, purity: Purity) -> None:
        self._holes = holes
        self._flows = flows
        self._purity = purity
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
        """Walk what is evaluated later. Names bound in it are not bound outside, but it may have had effects."""
        before = self._now
        self._now = replace(before, is_lazy=True, bound=before.bound | bound)
        self.all(nodes)
        self._now = replace(
            self._now,
            is_lazy=before.is_lazy,
            bound=before.bound,
        )

    def _looking(self, *nodes: ast.AST) -> None:
        """Evaluate these, and look into what they give."""
        self.all(nodes)
        self._now = replace(self._now, looked=self._now.looked | names_in(*nodes), may_raise=True)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.If():
                self._looking(node.test)
                self._lazily(node.body)
                self._lazily(node.orelse)
            case ast.For():
                self._looking(node.iter)
                self._lazily([node.target, *node.body], self._flows.bound(node.target))
                self._lazily(node.orelse)
            case ast.While():
                self._lazily([node.test, *node.body])
                self._lazily(node.orelse)
            case ast.With():
                self._looking(*node.items)
                self._lazily(node.body)
                self._now = replace(self._now, effects=True)
            case ast.Try():
                self._lazily([*node.body, *node.handlers, *node.orelse, *node.finalbody])
            case _:
                self._simple(node)
        self._after(node)

    def _simple(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                self.all([node.value, *node.targets])
            case ast.AugAssign():  # what it changes in place may have other names as well
                self.all(ast.iter_child_nodes(node))
                self._now = replace(self._now, effects=True)
            case ast.Assert():
                self._looking(node.test)
                self._lazily([node.msg])
            case _:
                self.all(ast.iter_child_nodes(node))

    def _after(self, node: ast.stmt) -> None:
        """Walk what follows a statement that may leave, and so is evaluated only where it did not."""
        leaves = any(isinstance(part, (ast.Return, ast.Raise, ast.Assert, ast.Break)) for part in ast.walk(node))
        bound = self._now.bound | self._flows.of_node(node).written
        self._now = replace(self._now, is_lazy=self._now.is_lazy or leaves, bound=bound)
        if not self._purity.is_pure(node):
            self._now = replace(self._now, effects=True)
        if not _only_names(node):
            self._now = replace(self._now, looked=self._now.looked | names_in(node), may_raise=True)

    def _expression(self, node: ast.AST) -> None:
        self._parts(node)
        if not self._purity.is_pure(node):
            self._now = replace(self._now, effects=True)
        if not isinstance(node, HANDING):
            self._now = replace(self._now, looked=self._now.looked | names_in(node), may_raise=True)

    def _parts(self, node: ast.AST) -> None:
        match node:
            case ast.IfExp() | ast.BoolOp() | ast.Compare():
                self._as_far_as_needed(node)
            case ast.Call(func=ast.Attribute(value=value)) if id(node.func) not in self._holes:
                self.all([value, *node.args, *node.keywords])  # naming a method is not looking yet
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    self._pair(key, value)
            case ast.keyword(arg=None):
                self._pair(None, node.value)
            case ast.Lambda():
                self.all([node.args])
                self._lazily([node.body], self._flows.bound(node.args))
            case _ if isinstance(node, COMPREHENSIONS):
                self._comprehension(node)
            case _:
                self.all(_in_order(node))

    def _pair(self, key: ast.expr | None, value: ast.expr) -> None:
        """Walk a key and its value, or a mapping whose items are taken over where it stands: `**d`."""
        if key is None:
            self._looking(value)
        else:
            self.all([key, value])

    def _as_far_as_needed(self, node: ast.IfExp | ast.BoolOp | ast.Compare) -> None:
        match node:
            case ast.IfExp():
                self._looking(node.test)
                self._lazily([node.body, node.orelse])
            case ast.BoolOp():
                self._looking(node.values[0])
                self._lazily(node.values[1:])
            case ast.Compare():
                self.all([node.left, *node.comparators[:1]])
                self._lazily(node.comparators[1:])

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self._looking(node.generators[0].iter)
        bound: Names = frozenset()
        for number, generator in enumerate(node.generators):
            if number:
                self._lazily([generator.iter], bound)
            bound |= self._flows.bound(generator.target)
            self._lazily([generator.target, *generator.ifs], bound)
        self._lazily(elements(node), bound)


def _in_order(node: ast.AST) -> Iterable[ast.AST | None]:
    """Return the parts of an expression, where all are evaluated, as they are."""
    match node:
        case ast.arguments():
            return [*node.defaults, *node.kw_defaults]
    return ast.iter_child_nodes(node)


def _only_names(node: ast.stmt) -> bool:
    """Return whether a statement only hands on what its expressions give."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) for target in node.targets)
    return isinstance(node, (ast.Expr, ast.Return, ast.Pass))
