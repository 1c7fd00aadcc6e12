"""Canonical blocks of statements: early exits, single assignments, and inlined values."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable

from atlas.learning.search.forms.nodes import (
    METHODS_RETURNING_NONE,
    Comprehension,
    changed_names,
    count_names,
    count_occurrences,
    is_repeatable,
    is_same_code,
    negate,
    substitute,
)
from atlas.learning.terms.normalisation import always_exits
from atlas.learning.terms.walking import walk

Rule = Callable[[list[ast.stmt], Counter[str]], list[ast.stmt] | None]
"""Function that takes statements up to the end of a block, and how often each name occurs in the whole code.

It returns the statements that replace them, or None if it does not apply."""

MAX_COPIED_NODES = 40
"""Largest size of a value that is copied to several places."""

_DEFERRED_SYNTAX = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.Lambda, ast.IfExp, ast.BoolOp)
"""Expressions whose parts are evaluated several times, or not at all."""


def drop_else(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Move the body of `else` after a branch that exits, and drop unreachable code."""
    match block:
        case [ast.If(test=test, body=body, orelse=[_, *_] as else_body), *rest] if always_exits(body):
            return [ast.If(test, body, []), *else_body, *rest]
        case [ast.If(test=test, body=body, orelse=[_, *_] as else_body), *rest] if always_exits(else_body):
            return [ast.If(negate(test), else_body, []), *body, *rest]
        case [ast.Return() | ast.Raise() | ast.Continue() | ast.Break() as exit_statement, _, *_]:
            return [exit_statement]
        case [ast.Pass(), *rest] if rest:
            return rest
    return None


def merge_nested_ifs(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Merge an `if` with the only `if` inside it."""
    match block:
        case [ast.If(test=test, body=[ast.If(test=inner_test, body=body, orelse=[])], orelse=[]), *rest]:
            return [ast.If(ast.BoolOp(ast.And(), [test, inner_test]), body, []), *rest]
        case [ast.If(test=test, body=[ast.Pass()], orelse=[_, *_] as else_body), *rest]:
            return [ast.If(negate(test), else_body, []), *rest]
    return None


def merge_branch_values(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Replace two branches that return a value, or set the same variable, by one conditional expression."""
    match block:
        case [
            ast.If(test=test, body=[ast.Return(value=ast.expr() as value)], orelse=[]),
            ast.Return(value=other_value),
            *_,
        ]:
            return [ast.Return(ast.IfExp(test, value, other_value or ast.Constant(None)))]
        case [
            ast.If(
                test=test,
                body=[ast.Assign(targets=[ast.Name() as target], value=value)],
                orelse=[ast.Assign(targets=[ast.Name() as other_target], value=other_value)],
            ),
            *rest,
        ] if is_same_code(target, other_target):
            return [ast.Assign([target], ast.IfExp(test, value, other_value)), *rest]
        case [ast.If(test=test, body=[step], orelse=[other_step]), *rest]:
            merged = _merge_steps(test, step, other_step)
            return None if merged is None else [merged, *rest]
    return None


def _merge_steps(test: ast.expr, step: ast.stmt, other_step: ast.stmt) -> ast.stmt | None:
    """Merge two branches that add or append to the same variable into one statement with a conditional value."""
    match step, other_step:
        case ast.AugAssign(target=target, op=operator), ast.AugAssign(target=other_target, op=other_operator):
            if is_same_code(target, other_target) and type(operator) is type(other_operator):
                return ast.AugAssign(target, operator, ast.IfExp(test, step.value, other_step.value))
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute() as method, args=[value], keywords=[])),
            ast.Expr(value=ast.Call(func=ast.Attribute() as other_method, args=[other_value], keywords=[])),
        ) if is_same_code(method, other_method):
            return ast.Expr(ast.Call(method, [ast.IfExp(test, value, other_value)], []))
    return None


def split_assignment(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Split a tuple assignment of independent values into single assignments."""
    match block:
        case [
            ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)),
            *rest,
        ] if len(targets) == len(values):
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            if len(names) == len(targets) and not names & set(count_names(values)):
                return [*(ast.Assign([target], value) for target, value in zip(targets, values, strict=True)), *rest]
        case [ast.Assign(targets=[first, second, *others], value=ast.Constant() as value), *rest]:
            return [ast.Assign([target], value) for target in (first, second, *others)] + rest
    return None


def use_augmented_assignment(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Write `x = x + 1` as `x += 1`, for subscripts too."""
    match block:
        case [
            ast.Assign(
                targets=[ast.Name() | ast.Subscript() | ast.Attribute() as target],
                value=ast.BinOp(left=left, op=operator, right=right),
            ),
            *rest,
        ]:
            if is_same_code(target, left):
                return [ast.AugAssign(target, operator, right), *rest]
            if isinstance(operator, ast.Mult) and is_same_code(target, right):
                return [ast.AugAssign(target, operator, left), *rest]
            if isinstance(operator, ast.Add) and is_same_code(target, right) and _is_number(left):
                return [ast.AugAssign(target, operator, left), *rest]
    return None


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def use_get_for_counting(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Write the usual ways of counting in a dict as `d[k] = d.get(k, 0) + n`."""
    match block:
        case [ast.If(test=test, body=[branch], orelse=[other]), *rest]:
            for branches in ((branch, other, ast.In), (other, branch, ast.NotIn)):
                counting = _as_counting_statement(test, *branches)
                if counting is not None:
                    return [counting, *rest]
        case [
            ast.If(test=test, body=[ast.Assign(targets=[place], value=ast.Constant(value=0))], orelse=[]),
            ast.AugAssign(value=increment) as addition,
            *rest,
        ]:
            counting = _as_counting_statement(test, addition, ast.Assign([place], increment), ast.NotIn)
            return None if counting is None else [counting, *rest]
    return None


def _as_counting_statement(
    test: ast.expr, addition: ast.stmt, initialisation: ast.stmt, operator: type[ast.cmpop]
) -> ast.stmt | None:
    """Return `d[k] = d.get(k, 0) + n` if one branch adds to an existing count and the other initialises it."""
    match test, addition, initialisation:
        case (
            ast.Compare(left=key, ops=[comparison], comparators=[mapping]),
            ast.AugAssign(target=place, op=ast.Add(), value=increment),
            ast.Assign(targets=[other_place], value=initial),
        ) if (
            type(comparison) is operator
            and is_same_code(place, other_place)
            and is_same_code(increment, initial)
            and _is_item_of(place, mapping, key)
        ):
            current = ast.Call(ast.Attribute(mapping, "get", ast.Load()), [key, ast.Constant(0)], [])
            return ast.Assign([ast.Subscript(mapping, key, ast.Store())], ast.BinOp(current, ast.Add(), increment))
    return None


def _is_item_of(place: ast.expr, mapping: ast.expr, key: ast.expr) -> bool:
    return isinstance(place, ast.Subscript) and is_same_code(place.value, mapping) and is_same_code(place.slice, key)


def inline_value(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Inline the value that the first statement assigns to a variable.

    Return None if the block begins with another statement, or if inlining could change what the code does.
    """
    match block:
        case [ast.Assign(targets=[ast.Name(id=name)], value=value), *rest] if rest:
            n_read = sum(count_occurrences(statement, name) for statement in rest)
            is_used_elsewhere = counts[name] != 1 + n_read
            if is_used_elsewhere or not n_read or count_occurrences(value, name):
                return None
            changed = changed_names(rest)
            if name in changed or changed & set(count_names([value])):
                return _inline_in_next(name, value, n_read, rest)
            if n_read == 1 and _is_read_once_in(rest[0], name):
                return [substitute(rest[0], {name: value}), *rest[1:]]
            if is_repeatable(value) and (n_read == 1 or len(list(walk(value))) <= MAX_COPIED_NODES):
                return [substitute(statement, {name: value}) for statement in rest]
    return None


def _inline_in_next(name: str, value: ast.expr, n_read: int, following: list[ast.stmt]) -> list[ast.stmt] | None:
    """Inline a value into the next statement, or return None if other statements read the variable too."""
    if n_read != 1 or not isinstance(following[0], ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
        return None
    if name in changed_names(following[:1]) or not _is_read_once_in(following[0], name):
        return None
    return [substitute(following[0], {name: value}), *following[1:]]


def _is_read_once_in(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement reads a name exactly once."""
    match statement:
        case ast.If(test=value) | ast.Return(value=ast.expr() as value) | ast.Expr(value=value) | ast.For(iter=value):
            code: ast.AST = value
        case ast.Assign() | ast.AugAssign():
            code = statement
        case _:
            return False
    deferred = [node for node in walk(code) if isinstance(node, _DEFERRED_SYNTAX)]
    outer_iterables = [node.generators[0].iter for node in deferred if isinstance(node, Comprehension)]
    is_read_immediately = not any(count_occurrences(node, name) for node in deferred)
    return count_occurrences(code, name) == 1 and (
        is_read_immediately or any(count_occurrences(iterable, name) for iterable in outer_iterables)
    )


def drop_dead_statements(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Drop imports, `global` declarations, and assignments of variables that are never read."""
    match block:
        case [ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal(), *rest] if rest:
            return rest
        case [ast.Assign(targets=[ast.Name(id=name)], value=value), *rest] if rest:
            return rest if counts[name] == 1 and is_repeatable(value) else None
        case [ast.AnnAssign(target=target, value=ast.expr() as value), *rest]:
            return [ast.Assign([target], value), *rest]
        case [ast.Expr(value=ast.Constant()), *rest] if rest:
            return rest
        case [ast.Return(value=ast.Call(func=ast.Attribute(attr=method)) as value), *_] if (
            method in METHODS_RETURNING_NONE
        ):
            return [ast.Expr(value)]
    return None


RULES: tuple[Rule, ...] = (
    drop_dead_statements,
    split_assignment,
    drop_else,
    merge_nested_ifs,
    merge_branch_values,
    use_augmented_assignment,
    use_get_for_counting,
    inline_value,
)
