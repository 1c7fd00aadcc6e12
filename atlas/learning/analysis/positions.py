"""The order in which the holes of an abstraction are evaluated, and how often."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from atlas.learning.analysis.purity import Purity, names_read_in
from atlas.learning.analysis.variables import Flows, Names, result_expressions
from atlas.learning.terms.scopes import COMPREHENSIONS
from atlas.learning.terms.walking import walk

PASSIVE_SYNTAX = (ast.Constant, ast.expr_context, ast.keyword, ast.Lambda, ast.List, ast.Name, ast.Tuple)
"""Syntax that passes its parts on without inspecting them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One position of a hole in the code."""

    is_lazy: bool
    """True if code at the position may be evaluated later, repeatedly, or not at all."""

    may_change: bool
    """True if earlier code may change the value of the hole."""

    bound: Names
    """Variables that the abstraction has assigned on every path before the position."""

    inspected: Names = frozenset()
    """Names of objects that earlier code has inspected. Code that changes such an object must not move before it."""

    may_raise: bool = False
    """True if earlier code may raise an exception."""


def hole_positions(
    nodes: Iterable[ast.AST], holes: Mapping[int, int], flows: Flows, purity: Purity
) -> dict[int, list[Position]]:
    """Return the positions of each hole, in the order of evaluation.

    Args:
        holes: The number of each hole, keyed by the `id` of its node.
    """
    evaluation = _EvaluationWalk(holes, flows, purity)
    evaluation.walk_all(nodes)
    return evaluation.positions


def reading_order(nodes: Iterable[ast.AST], holes: Mapping[int, int], variables: Mapping[str, int]) -> list[int]:
    """Return holes and variables in the order of their first appearance in the code.

    In a comprehension, the iterable comes before the element.

    Args:
        holes: The number of each hole, keyed by the `id` of its node.
        variables: The number of each variable.
    """
    order: dict[int, None] = {}
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        if id(node) in holes:
            order[holes[id(node)]] = None
        elif isinstance(node, ast.Name | ast.arg):
            number = variables.get(node.id if isinstance(node, ast.Name) else node.arg)
            order |= {} if number is None else {number: None}
        else:
            children = sorted(ast.iter_child_nodes(node), key=lambda child: not isinstance(child, ast.comprehension))
            stack += children[::-1]
    return list(order)


def may_be_evaluated_early(argument: ast.AST, position: Position, purity: Purity) -> bool:
    """Return whether an argument may be evaluated earlier: before all code that precedes a position."""
    if position.may_raise and purity.distinguishes_exceptions:
        return False
    if purity.has_side_effects(argument):
        return not position.inspected and not position.may_raise
    return not position.inspected & purity.consumed_iterators(argument)


class _EvaluationWalk:
    def __init__(self, holes: Mapping[int, int], flows: Flows, purity: Purity) -> None:
        self._holes = holes
        self._flows = flows
        self._purity = purity
        self._position = Position(is_lazy=False, may_change=False, bound=frozenset())
        self.positions: dict[int, list[Position]] = {}

    def walk_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node)

    def _visit(self, node: ast.AST) -> None:
        if id(node) in self._holes:
            self.positions.setdefault(self._holes[id(node)], []).append(self._position)
        elif isinstance(node, ast.stmt):
            self._walk_statement(node)
        else:
            self._walk_expression(node)

    def _walk_lazily(self, nodes: Iterable[ast.AST | None], bound: Names = frozenset()) -> None:
        """Walk code that may be evaluated later or not at all.

        What it changes is recorded for the code after it. The variables that it binds are not.
        """
        position = self._position
        self._position = replace(position, is_lazy=True, bound=position.bound | bound)
        self.walk_all(nodes)
        self._position = replace(
            self._position,
            is_lazy=position.is_lazy,
            bound=position.bound,
        )

    def _walk_inspected(self, *nodes: ast.AST) -> None:
        """Walk nodes, and record that their values are inspected, which may raise."""
        self.walk_all(nodes)
        self._position = replace(
            self._position, inspected=self._position.inspected | names_read_in(*nodes), may_raise=True
        )

    def _walk_statement(self, node: ast.stmt) -> None:
        match node:
            case ast.If():
                self._walk_inspected(node.test)
                self._walk_lazily(node.body)
                self._walk_lazily(node.orelse)
            case ast.For() | ast.AsyncFor():
                self._walk_inspected(node.iter)
                self._walk_lazily([node.target, *node.body], self._flows.bound_variables(node.target))
                self._walk_lazily(node.orelse)
            case ast.While():
                self._walk_lazily([node.test, *node.body])
                self._walk_lazily(node.orelse)
            case ast.With() | ast.AsyncWith():
                self._walk_inspected(*node.items)
                self._walk_lazily(node.body)
                self._position = replace(self._position, may_change=True)
            case ast.Try():
                self._walk_lazily([*node.body, *node.handlers, *node.orelse, *node.finalbody])
            case _:
                self._walk_simple_statement(node)
        self._record_effects(node)

    def _walk_simple_statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                self.walk_all([node.value, *node.targets])
            case ast.AugAssign():  # an object that is changed in place may have other names as well
                self.walk_all(ast.iter_child_nodes(node))
                self._position = replace(self._position, may_change=True)
            case ast.Assert():
                self._walk_inspected(node.test)
                self._walk_lazily([node.msg])
            case _:
                self.walk_all(ast.iter_child_nodes(node))

    def _record_effects(self, node: ast.stmt) -> None:
        """Record the effects of a statement. Code after a statement that may leave the block is lazy."""
        leaves = any(isinstance(part, (ast.Return, ast.Raise, ast.Assert, ast.Break)) for part in walk(node))
        bound = self._position.bound | self._flows.of_node(node).written
        self._position = replace(self._position, is_lazy=self._position.is_lazy or leaves, bound=bound)
        if not self._purity.is_pure(node):
            self._position = replace(self._position, may_change=True)
        if not _only_moves_values(node):
            self._position = replace(
                self._position, inspected=self._position.inspected | names_read_in(node), may_raise=True
            )

    def _walk_expression(self, node: ast.AST) -> None:
        self._walk_parts(node)
        if not self._purity.is_pure(node):
            self._position = replace(self._position, may_change=True)
        if not isinstance(node, PASSIVE_SYNTAX):
            self._position = replace(
                self._position, inspected=self._position.inspected | names_read_in(node), may_raise=True
            )

    def _walk_parts(self, node: ast.AST) -> None:
        match node:
            case ast.IfExp() | ast.BoolOp() | ast.Compare():
                self._walk_short_circuit(node)
            case ast.Call(func=ast.Attribute(value=value)) if id(node.func) not in self._holes:
                self.walk_all([value, *node.args, *node.keywords])  # reading a method does not inspect the object
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    self._walk_pair(key, value)
            case ast.keyword(arg=None):
                self._walk_pair(None, node.value)
            case ast.Lambda():
                self.walk_all([node.args])
                self._walk_lazily([node.body], self._flows.bound_variables(node.args))
            case _ if isinstance(node, COMPREHENSIONS):
                self._walk_comprehension(node)
            case _:
                self.walk_all(_evaluated_children(node))

    def _walk_pair(self, key: ast.expr | None, value: ast.expr) -> None:
        """Walk a key and its value in a dict display. For an unpacked mapping, `**d`, the key is None."""
        if key is None:
            self._walk_inspected(value)
        else:
            self.walk_all([key, value])

    def _walk_short_circuit(self, node: ast.IfExp | ast.BoolOp | ast.Compare) -> None:
        match node:
            case ast.IfExp():
                self._walk_inspected(node.test)
                self._walk_lazily([node.body, node.orelse])
            case ast.BoolOp():
                self._walk_inspected(node.values[0])
                self._walk_lazily(node.values[1:])
            case ast.Compare():
                self.walk_all([node.left, *node.comparators[:1]])
                self._walk_lazily(node.comparators[1:])

    def _walk_comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self._walk_inspected(node.generators[0].iter)
        bound: Names = frozenset()
        for number, generator in enumerate(node.generators):
            if number:
                self._walk_lazily([generator.iter], bound)
            bound |= self._flows.bound_variables(generator.target)
            self._walk_lazily([generator.target, *generator.ifs], bound)
        self._walk_lazily(result_expressions(node), bound)


def _evaluated_children(node: ast.AST) -> Iterable[ast.AST | None]:
    """Return the children of a node that are evaluated. For a parameter list, these are the defaults."""
    if isinstance(node, ast.arguments):
        return [*node.defaults, *node.kw_defaults]
    return ast.iter_child_nodes(node)


def _only_moves_values(node: ast.stmt) -> bool:
    """Return whether a statement only moves values, such as an assignment to names, without inspecting them."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) for target in node.targets)
    return isinstance(node, (ast.Expr, ast.Return, ast.Pass))
