"""Variables that code reads and writes, which decide a function's parameters and results.

The analysis is conservative: whatever may be read counts as read, and only what is always written counts as written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from atlas.learning.terms.scopes import COMPREHENSIONS
from atlas.learning.terms.walking import walk

Names = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The variables that a piece of code reads and writes, as in data-flow analysis."""

    reads: Names = frozenset()
    """Variables that may be read before the code writes them."""

    written: Names = frozenset()
    """Variables that are written on every path to the end of the code."""

    maybe_written: Names = frozenset()
    """Variables that are written on at least one path."""

    always_leaves: bool = False
    """True if no path reaches the end of the code, because it returns, raises, or leaves the loop."""

    def followed_by(self, other: Flow) -> Flow:
        """Return the flow of this code with other code after it."""
        return Flow(
            reads=self.reads | (other.reads - self.written),
            written=self.written | other.written,
            maybe_written=self.maybe_written | other.maybe_written,
            always_leaves=self.always_leaves or other.always_leaves,
        )

    def join(self, other: Flow) -> Flow:
        """Return the flow of a branch that runs either this code or other code."""
        completing = [flow.written for flow in (self, other) if not flow.always_leaves] or [self.written, other.written]
        return Flow(
            reads=self.reads | other.reads,
            written=frozenset.intersection(*completing),
            maybe_written=self.maybe_written | other.maybe_written,
            always_leaves=self.always_leaves and other.always_leaves,
        )

    def as_optional(self) -> Flow:
        """Return the flow of code that may run completely, partly or not at all."""
        return Flow(reads=self.reads, maybe_written=self.maybe_written)


NO_VARIABLES = Flow()
JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


class Flows:
    """The flow of local variables in any code of one program.

    Args:
        symbols: The `id` of every node that names a local variable.
        holes: The `id` of every expression that is left out.
    """

    def __init__(self, symbols: Set[int], holes: Set[int] = frozenset()) -> None:
        self._symbols = symbols
        self._holes = holes

    def of(self, nodes: Iterable[ast.AST]) -> Flow:
        """Return the flow of nodes that run one after another."""
        flow = NO_VARIABLES
        for node in nodes:
            flow = flow.followed_by(self.of_node(node))
        return flow

    def of_node(self, node: ast.AST | None) -> Flow:
        """Return the flow of a statement or an expression."""
        if node is None or id(node) in self._holes:
            return NO_VARIABLES
        if isinstance(node, ast.stmt):
            return self._statement_flow(node)
        return self._expression_flow(node)

    def bound_variables(self, target: ast.AST) -> Names:
        """Return the variables that a target, an argument list or a comprehension binds."""
        names = set[str]()
        for node in walk(target):
            if id(node) not in self._symbols:
                continue
            if isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
        return frozenset(names)

    def _expression_flow(self, node: ast.AST) -> Flow:
        if isinstance(node, ast.Name):
            return self._name_flow(node)
        if isinstance(node, COMPREHENSIONS):
            return self._comprehension_flow(node)
        if isinstance(node, ast.Lambda):
            body = self.of_node(node.body)
            return self.of_node(node.args).followed_by(Flow(reads=body.reads - self.bound_variables(node.args)))
        if isinstance(node, ast.NamedExpr):
            return self.of_node(node.value).followed_by(self.of_node(node.target)).as_optional()
        return self.of(ast.iter_child_nodes(node))

    def _name_flow(self, node: ast.Name) -> Flow:
        if id(node) not in self._symbols:
            return NO_VARIABLES
        name = frozenset([node.id])
        if isinstance(node.ctx, ast.Store):
            return Flow(written=name, maybe_written=name)
        return Flow(reads=name) if isinstance(node.ctx, ast.Load) else Flow(reads=name, maybe_written=name)

    def _comprehension_flow(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Flow:
        outermost, *nested = node.generators
        elements = self.of([*outermost.ifs, *nested, *result_expressions(node)])
        bound = frozenset[str]().union(*(self.bound_variables(generator.target) for generator in node.generators))
        return self.of_node(outermost.iter).followed_by(
            Flow(reads=elements.reads - bound, maybe_written=elements.maybe_written - bound)
        )

    def _statement_flow(self, node: ast.stmt) -> Flow:
        match node:
            case ast.Assign():
                return self.of([node.value, *node.targets])
            case ast.AugAssign():
                return Flow(reads=self._augmented_target(node.target)).followed_by(self.of([node.value, node.target]))
            case ast.AnnAssign():
                return self.of_node(node.value).followed_by(self.of_node(node.target)) if node.value else NO_VARIABLES
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return Flow(reads=self._captured_names(node))
        return self._compound_flow(node)

    def _augmented_target(self, target: ast.expr) -> Names:
        """Return the variable that an augmented assignment such as `x += 1` reads. Empty for any other target."""
        if isinstance(target, ast.Name) and id(target) in self._symbols:
            return frozenset([target.id])
        return frozenset()

    def _compound_flow(self, node: ast.stmt) -> Flow:
        match node:
            case ast.If():
                return self.of_node(node.test).followed_by(self.of(node.body).join(self.of(node.orelse)))
            case ast.For() | ast.AsyncFor():
                return (
                    self.of_node(node.iter)
                    .followed_by(self.later_iterations(node))
                    .followed_by(self.of(node.orelse).as_optional())
                )
            case ast.While():
                return (
                    self.of_node(node.test)
                    .followed_by(self.later_iterations(node))
                    .followed_by(self.of(node.orelse).as_optional())
                )
            case ast.With() | ast.AsyncWith():
                return self.of(node.items).followed_by(self.of(node.body).as_optional())
            case ast.Try() | ast.TryStar():
                return self._try_flow(node)
            case ast.Match():
                flow = self.of_node(node.subject)
                return flow.followed_by(
                    self.of([part for case in node.cases for part in _case_parts(case)]).as_optional()
                )
        flow = self.of(ast.iter_child_nodes(node))
        return flow.followed_by(Flow(always_leaves=True)) if isinstance(node, JUMPS) else flow

    def later_iterations(self, loop: ast.stmt) -> Flow:
        """Return the flow of a loop from its second iteration on."""
        if isinstance(loop, ast.While):
            return self.of_node(loop.test).followed_by(self.of(loop.body)).as_optional()
        if isinstance(loop, (ast.For, ast.AsyncFor)):
            return self.of_node(loop.target).followed_by(self.of(loop.body)).as_optional()
        return NO_VARIABLES

    def _try_flow(self, node: ast.Try | ast.TryStar) -> Flow:
        flow = self.of(node.body).as_optional()
        for handler in node.handlers:
            names = frozenset([handler.name]) if handler.name and id(handler) in self._symbols else frozenset()
            handling = Flow(written=names, maybe_written=names).followed_by(self.of(handler.body))
            flow = flow.followed_by(self.of_node(handler.type)).followed_by(handling.as_optional())
        return flow.followed_by(self.of(node.orelse).as_optional()).followed_by(self.of(node.finalbody))

    def _captured_names(self, definition: ast.AST) -> Names:
        """Return the variables that a nested definition may read at any time: all names in it."""
        return frozenset(
            node.id for node in walk(definition) if isinstance(node, ast.Name) and id(node) in self._symbols
        )


def result_expressions(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Sequence[ast.expr]:
    """Return the result expressions of a comprehension."""
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]


def _case_parts(case: ast.match_case) -> list[ast.AST]:
    return [case.pattern, *([case.guard] if case.guard else []), *case.body]
