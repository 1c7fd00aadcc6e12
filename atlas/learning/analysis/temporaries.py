"""A second form of programs, in which variables that are used once are replaced by what they stand for.

Some write `words = text.split()` and `return len(words)`, others `return len(text.split())`. In this form both are the
same, so that a search finds what they share.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from atlas.learning.analysis.positions import Position, may_come_before, positions
from atlas.learning.analysis.purity import Purity
from atlas.learning.analysis.variables import Flows
from atlas.learning.terms.scopes import LOCAL, bindings

MAX_LINE = 140
"""Characters of the line that an expression is put into. A longer one reads worse than two."""

READING = (ast.Return, ast.Expr, ast.Assign, ast.AugAssign, ast.If, ast.For, ast.Raise, ast.Assert)
"""Statements that begin with the evaluation of expressions, which another one may be put into."""

MOVED_NEVER = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)


def inline_temporaries(module: ast.Module) -> int:
    """Replace each variable that the next statement uses once, and nothing else does. Return how many there were.

    An expression is put where it is evaluated at another time only if it gives the same there, and if what comes before
    it by then does the same too. The module is changed in place.
    """
    inlining = _Inlining(module)
    functions = [node for node in ast.walk(module) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return sum(inlining.function(one) for one in functions)


class _Inlining:
    def __init__(self, module: ast.Module) -> None:
        origins = bindings(module)
        self._symbols = {key for key, origin in origins.items() if origin == LOCAL}
        self._purity = Purity(module, self._symbols, origins)
        self._flows = Flows(self._symbols)

    def function(self, function: ast.AST) -> int:
        """Go through the blocks of a function."""
        counts = _counts(function)
        return sum(self._block(block, counts) for block in _blocks(function))

    def _block(self, statements: list[ast.stmt], counts: Counter[str]) -> int:
        """Go through a block from its end, so that what was put into a statement moves on with it."""
        n_before = len(statements)
        for number in range(n_before - 2, -1, -1):
            if number + 1 < len(statements) and self._put(statements[number], statements[number + 1], counts):
                del statements[number]
        return n_before - len(statements)

    def _put(self, statement: ast.stmt, following: ast.stmt, counts: Counter[str]) -> bool:
        """Put what a statement gives a name into the next one, if that is the only place where it is read."""
        match statement:
            case ast.Assign(value=ast.Constant(value=str())) if isinstance(following, ast.Expr):
                return False  # a text alone at the beginning of a function is its docstring
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value) if id(target) in self._symbols:
                read = self._read(name, following) if counts[name] == 2 else None
            case _:
                return False
        if read is None or not self._gives_the_same(value, read, following):
            return False
        replacing = _Replacing(read, value)
        replacing.visit(following)
        if len(ast.unparse(following).partition("\n")[0]) <= MAX_LINE:
            return True
        _Replacing(value, read).visit(following)
        return False

    def _read(self, name: str, following: ast.stmt) -> ast.Name | None:
        """Return where a statement reads a variable as it begins.

        An f-string has no room for any expression. A target may read what another one before it has just set.
        """
        if not isinstance(following, READING) or self._is_changed_elsewhere(following):
            return None
        closed = (node for node in ast.walk(following) if isinstance(node, ast.JoinedStr) or _is_target(node))
        closed_ids = {id(part) for node in closed for part in ast.walk(node)}
        reads = (node for node in ast.walk(following) if isinstance(node, ast.Name) and node.id == name)
        return next((one for one in reads if isinstance(one.ctx, ast.Load) and id(one) not in closed_ids), None)

    def _is_changed_elsewhere(self, following: ast.stmt) -> bool:
        """Return whether `x += …` reads what others may change before it evaluates the rest."""
        return isinstance(following, ast.AugAssign) and id(following.target) not in self._symbols

    def _gives_the_same(self, value: ast.expr, read: ast.Name, following: ast.stmt) -> bool:
        # What a value changes may be looked up before it is evaluated: in `self.h(t)`, the method is.
        if self._purity.acts(value) or any(isinstance(node, MOVED_NEVER) for node in ast.walk(value)):
            return False
        [place] = positions([following], {id(read): 0}, self._flows, self._purity).get(0, [_NOWHERE])
        return not (place.is_lazy or place.effects) and may_come_before(value, place, self._purity)


_NOWHERE = Position(is_lazy=True, effects=True, bound=frozenset())


class _Replacing(ast.NodeTransformer):
    """The replacement of one expression by another."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old = old
        self._new = new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def _is_target(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _counts(function: ast.AST) -> Counter[str]:
    """Return how often each name stands in a function, what is defined in it included."""
    named = ((node.id if isinstance(node, ast.Name) else node.arg) for node in _naming(function))
    return Counter(named)


def _naming(function: ast.AST) -> Iterator[ast.Name | ast.arg]:
    return (node for node in ast.walk(function) if isinstance(node, (ast.Name, ast.arg)))


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a function, but for those of functions and classes in it."""
    waiting = [function]
    while waiting:
        node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                waiting.append(child)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block
