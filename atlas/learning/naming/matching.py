"""Code compared with patterns, whatever its names are.

A pattern is a function in Python. Its parameters and variables stand for the code's own, one for one. A parameter in
capitals is a hole, which any expression fits that reads none of the code's variables: `TOTAL`. Called, it fits one that
reads those which it is called with: `TEST(item)`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import cast

from atlas.learning.search.forms.canonical import Form
from atlas.learning.search.forms.nodes import bound_in, load, same, substituted

MAX_PERMUTED = 4
"""Tests joined by `and` or `or` that are tried in any order."""

_ELEMENT = "item"
"""Name for what a hole is called with that is no variable: `TEST(items[i])`."""

_COMMUTATIVE = (ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
_ARITHMETIC = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_OF_NUMBERS = frozenset({"abs", "divmod", "float", "int", "len", "ord", "round", "sum"})
_NO_MEANING = frozenset({"ctx", "type_comment", "kind", "type_ignores", "type_params"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A function that code is compared with."""

    form: Form
    holes: frozenset[str]
    variables: frozenset[str]
    """Names that it binds, parameters and holes aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """The expression that fits a hole."""

    value: ast.expr
    subjects: tuple[str, ...] = ()
    """Variables of the code that the hole is called with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The names and expressions of code that a pattern's stand for."""

    names: Mapping[str, str] = field(default_factory=dict)
    holes: Mapping[str, Hole] = field(default_factory=dict)


def pattern_of(form: Form) -> Pattern:
    """Return the pattern that a function is."""
    holes = frozenset(name for name in form.parameters if name.isupper())
    parameters = tuple(name for name in form.parameters if name not in holes)
    return Pattern(form=replace(form, parameters=parameters), holes=holes, variables=form.variables)


def matched(pattern: Pattern, form: Form) -> Match | None:
    """Return how code fits a pattern as a whole, or None where it does not."""
    if pattern.form.outline != form.outline:
        return None
    return next(_Comparing(pattern, form).all(pattern.form.body, form.body, Match()), None)


def matched_of(pattern: Pattern, value: ast.expr, subject: str) -> Match | None:
    """Return how an expression fits what a pattern of the one parameter `it` returns, with a variable for `it`."""
    wanted = pattern.form.value
    if wanted is None:
        return None
    form = Form(name="", parameters=(subject,), body=[ast.Return(value)])
    comparing = _Comparing(pattern, form, {subject})
    return next(comparing.all([wanted], [value], Match(names={"it": subject})), None)


class _Comparing:
    """The comparison of one pattern with one function."""

    def __init__(self, pattern: Pattern, form: Form, variables: Collection[str] = ()) -> None:
        self._pattern = pattern
        self._form = form
        self._parameters = set(form.parameters)
        self._variables = form.variables | set(variables)

    def all(self, wanted: Sequence[ast.AST], given: Sequence[ast.AST], so_far: Match) -> Iterator[Match]:
        """Yield each way in which nodes fit those of the pattern, one by one."""
        if len(wanted) != len(given):
            return
        if not wanted:
            yield so_far
            return
        for found in self.one(wanted[0], given[0], so_far):
            yield from self.all(wanted[1:], given[1:], found)

    def one(self, wanted: ast.AST, given: ast.AST, so_far: Match) -> Iterator[Match]:
        """Yield each way in which a node fits that of the pattern."""
        match wanted:
            case ast.Name(id=name) if name in self._pattern.holes:
                yield from self._filled(name, [], given, so_far)
            case ast.Call(func=ast.Name(id=name), args=args) if name in self._pattern.holes:
                yield from self._called(name, args, given, so_far)
            case ast.Constant(value=value):
                if isinstance(given, ast.Constant) and type(value) is type(given.value) and value == given.value:
                    yield so_far
            case _ if type(wanted) is not type(given):
                return
            case ast.Name() | ast.arg():
                yield from self._named(_name(wanted), _name(given), so_far)
            case _:
                yield from self._of_kind(wanted, given, so_far)

    def _called(self, hole: str, args: list[ast.expr], given: ast.AST, so_far: Match) -> Iterator[Match]:
        """Yield the match with an expression in a hole that is called with variables, or with one element."""
        match args:
            case [ast.Subscript() as element]:
                yield from self._filled(hole, [_ELEMENT], _named_in(given, element, so_far), so_far)
            case _:
                yield from self._filled(hole, list(map(_name, args)), given, so_far)

    def _of_kind(self, wanted: ast.AST, given: ast.AST, so_far: Match) -> Iterator[Match]:
        """Yield each way in which the parts fit, in any order where that means the same."""
        parts, others = _parts(wanted), _parts(given)
        if parts is None or others is None:
            yield from self._fields(wanted, given, so_far)
        elif parts.kind == others.kind and len(parts.values) == len(others.values) <= MAX_PERMUTED:
            orders = permutations(others.values) if parts.any_order else [tuple(others.values)]
            for order in orders:
                yield from self.all(parts.values, order, so_far)

    def _fields(self, wanted: ast.AST, given: ast.AST, so_far: Match) -> Iterator[Match]:
        nodes: list[ast.AST] = []
        others: list[ast.AST] = []
        for name in sorted(wanted._fields, key=lambda field: field != "generators"):  # they bind what the rest reads
            one, other = _listed(getattr(wanted, name, None)), _listed(getattr(given, name, None))
            if name in _NO_MEANING:
                continue
            if len(one) != len(other):
                return
            for part, other_part in zip(one, other, strict=True):
                if isinstance(part, ast.AST) and isinstance(other_part, ast.AST):
                    nodes.append(part)
                    others.append(other_part)
                elif part != other_part:
                    return
        yield from self.all(nodes, others, so_far)

    def _named(self, name: str, given: str, so_far: Match) -> Iterator[Match]:
        """Yield the match with a name of the pattern for one of the code, if they may stand for each other."""
        if name == self._pattern.form.name:
            if given == self._form.name:
                yield so_far
        elif name in self._pattern.form.parameters or name in self._pattern.variables:
            mine = self._parameters if name in self._pattern.form.parameters else self._variables
            known = so_far.names.get(name)
            if known == given or (known is None and given in mine and given not in so_far.names.values()):
                yield replace(so_far, names={**so_far.names, name: given})
        elif name == given and given not in self._parameters | self._variables:
            yield so_far

    def _filled(self, name: str, subjects: list[str], given: ast.AST, so_far: Match) -> Iterator[Match]:
        """Yield the match with an expression in a hole, if it reads what it may and nothing else."""
        if not isinstance(given, ast.expr):
            return
        mine = tuple(so_far.names.get(subject, subject if subject == _ELEMENT else "") for subject in subjects)
        held = {node.id for node in ast.walk(given) if isinstance(node, ast.Name)}
        inner = bound_in([given])
        if held & (self._variables - inner - set(mine)) or not all(one in held for one in mine):
            return
        known = so_far.holes.get(name)
        hole = Hole(value=given, subjects=mine)
        if known is None:
            yield replace(so_far, holes={**so_far.holes, name: hole})
        elif same(_with_subjects(known, mine), given):
            yield so_far


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The operands of an operation, and whether they may change places."""

    kind: str
    values: list[ast.expr]
    any_order: bool = True


def _parts(node: ast.AST) -> _Parts | None:
    """Return the operands of what may have them in any order, None for anything else."""
    match node:
        case ast.BoolOp(op=operator, values=values):
            return _Parts(kind=type(operator).__name__, values=values)
        case ast.BinOp(left=left, op=operator, right=right):
            any_order = isinstance(operator, _COMMUTATIVE) or (isinstance(operator, ast.Add) and _adds_numbers(node))
            return _Parts(kind=type(operator).__name__, values=[left, right], any_order=any_order)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as operator], comparators=[right]):
            return _Parts(kind=type(operator).__name__, values=[left, right])
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[_, _] as args, keywords=[]):
            return _Parts(kind=name, values=args)
    return None


def _name(node: ast.AST) -> str:
    return str(getattr(node, "id", getattr(node, "arg", "")))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _named_in(given: ast.AST, element: ast.expr, so_far: Match) -> ast.AST:
    """Return code with a name in place of an element that the pattern names by its position, such as `items[i]`."""
    wanted = substituted(element, {name: load(own) for name, own in so_far.names.items()})

    class Naming(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
            self.generic_visit(node)
            return load(_ELEMENT) if same(node, wanted) else node

    return cast(ast.AST, Naming().visit(copy.deepcopy(given)))


def _with_subjects(hole: Hole, subjects: Sequence[str]) -> ast.expr:
    names = dict(zip(hole.subjects, subjects, strict=False))
    return substituted(hole.value, {old: load(new) for old, new in names.items()})


def _adds_numbers(node: ast.BinOp) -> bool:
    """Return whether a sum is surely one of numbers, so that its sides may change places."""
    return any(_is_number(side) for side in (node.left, node.right))


def _is_number(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=int() | float()):
            return True
        case ast.BinOp(op=operator):
            return isinstance(operator, _ARITHMETIC) or _adds_numbers(value)
        case ast.Call(func=ast.Name(id=name)):
            return name in _OF_NUMBERS
    return False
