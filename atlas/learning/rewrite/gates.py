"""Gates: conditions that a function must meet to be kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from atlas.learning.search.limits import Limits
from atlas.learning.terms.scopes import COMPREHENSIONS
from atlas.learning.terms.walking import walk

MIN_TABLE_CONSTANTS = 4
"""Smallest number of constants in a literal, such as a table of four directions, that make a function worth keeping."""

FUNCTION = "function: "
"""Prefix of the reason that a gate gives for refusing a function."""

SINGLE_OPERATION = f"{FUNCTION}one call or operation under another name"
ONLY_CALLS_PARAMETER = f"{FUNCTION}does nothing but call its parameters"
NO_SAVING = f"{FUNCTION}makes programs and library no shorter"

CONTROL_FLOW = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.IfExp, ast.With, ast.AsyncWith, ast.Try, ast.TryStar)
"""Syntax that controls whether and how often code runs."""

REPETITION = (*CONTROL_FLOW, *COMPREHENSIONS)

_OPERATIONS = (
    *(ast.Call, ast.BinOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.AugAssign, ast.JoinedStr, ast.Delete),
    *COMPREHENSIONS,
    *CONTROL_FLOW,
)

_ARITHMETIC = (ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Slice)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionBody:
    """The properties of a function's body that the gates check."""

    statements: Sequence[ast.stmt]
    """Statements without imports."""

    parameters: Set[str]
    n_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionUsage:
    """How much a function is used."""

    n_tasks: int
    """Number of tasks whose programs call the function, directly or through another function."""

    saving: int
    """Tokens that the function saves over programs and library, minus its length."""


def usage_problem(usage: FunctionUsage, limits: Limits) -> str:
    """Return the reason why a function is used too little to be kept. Empty if it is used enough."""
    if usage.n_tasks < limits.min_tasks:
        return f"{FUNCTION}fewer than {limits.min_tasks} tasks need it"
    if usage.saving <= 0:
        return NO_SAVING
    if usage.n_tasks < limits.many_tasks and usage.saving < limits.min_saving_of_few:
        few = f"fewer than {limits.many_tasks} tasks need it"
        return f"{FUNCTION}{few}, and it saves fewer than {limits.min_saving_of_few} tokens"
    return ""


def body_problem(body: FunctionBody, limits: Limits) -> str:
    """Return the reason why a function is too trivial to be kept. Empty if it is not trivial."""
    if body.n_tokens < limits.min_body_tokens:
        return f"{FUNCTION}shorter than {limits.min_body_tokens} tokens"
    performed_operations = list(operations(body.statements))
    if len(performed_operations) < 2 and _longest_table(body.statements) < MIN_TABLE_CONSTANTS:
        return SINGLE_OPERATION
    calculations = [node for node in performed_operations if not isinstance(node, REPETITION)]
    if calculations and all(_is_call_of(node, body.parameters) for node in calculations):
        return ONLY_CALLS_PARAMETER
    return ""


def operations(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the operations in code: calls, operators, subscripts, loops and conditions.

    Reading a name or an attribute, an assignment, and the sign of a number do not count. In a comprehension, each
    further `for` counts, and each `for` with an `if`. A comparison and a `range` count once with the arithmetic,
    subscripts and lengths in them.
    """
    queue: list[ast.AST] = [*statements]
    while queue:
        node = queue.pop(0)
        is_signed_number = isinstance(node, ast.UnaryOp) and _is_number(node.operand)
        if isinstance(node, (*_OPERATIONS, ast.UnaryOp)) and not is_signed_number:
            yield node
        if isinstance(node, COMPREHENSIONS):
            yield from (generator for number, generator in enumerate(node.generators) if number or generator.ifs)
        inner = [*ast.iter_child_nodes(node)]
        if _counts_as_one_operation(node):
            inner = [part for child in inner for part in _iterate_non_arithmetic(child)]
        queue += inner


def _counts_as_one_operation(node: ast.AST) -> bool:
    """Return whether an operation and the arithmetic in its operands count as one operation."""
    return isinstance(node, ast.Compare) or _is_call_of(node, {"range"})


def _iterate_non_arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the outermost subexpressions that are not arithmetic, subscripts or lengths."""
    if isinstance(node, _ARITHMETIC) or _is_call_of(node, {"len"}):
        for part in ast.iter_child_nodes(node):
            yield from _iterate_non_arithmetic(part)
    else:
        yield node


def _is_number(operand: ast.expr) -> bool:
    return isinstance(operand, ast.Constant)


def _longest_table(statements: Sequence[ast.stmt]) -> int:
    """Return the largest number of constants in a literal, including nested literals."""
    displays = (
        node
        for statement in statements
        for node in walk(statement)
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict)
    )
    return max((sum(isinstance(part, ast.Constant) for part in walk(display)) for display in displays), default=0)


def _is_call_of(node: ast.AST, names: Set[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
