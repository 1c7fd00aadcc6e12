"""Canonical forms of calls of builtin functions."""

from __future__ import annotations

import ast

from atlas.learning.search.forms.comprehensions import filter_as_generator, map_as_generator
from atlas.learning.search.forms.nodes import call, count_occurrences, is_boolean, load_name

_CONSUMERS = frozenset({"all", "any", "frozenset", "max", "min", "set", "sorted", "sum", "tuple"})
"""Functions with the same result for a list as for a generator of its values."""


def simplify_call(node: ast.Call) -> ast.expr:
    """Return the canonical form of a call whose arguments are canonical already."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if args and not keywords:
            return _simplify_builtin_call(name, args, node)
        case ast.Call(func=ast.Name(id=name), args=[first, *others]) if name in _CONSUMERS:
            node.args = [_drop_redundant_list(first), *others]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=args, keywords=[]):
            return _simplify_math_call(name, args, node)
        case ast.Call(func=ast.Attribute(attr="join"), args=[items], keywords=[]):
            node.args = [_drop_redundant_list(items)]
    return node


def _simplify_builtin_call(name: str, args: list[ast.expr], node: ast.Call) -> ast.expr:
    for rule in (_simplify_iteration_call, _simplify_collection_call, _simplify_numeric_call):
        simplified = rule(name, args)
        if simplified is not None:
            return simplified
    if name in _CONSUMERS and len(args) == 1:
        return ast.Call(node.func, [_drop_redundant_list(args[0])], [])
    return node


def _simplify_iteration_call(name: str, args: list[ast.expr]) -> ast.expr | None:
    """Return the canonical form of `map`, `filter`, `range` or `any`, or None for other calls."""
    match name, args:
        case "map", [function, items]:
            return map_as_generator(function, items)
        case "filter", [function, items]:
            return filter_as_generator(function, items)
        case "range", _:
            return call("range", *_drop_default_bounds(args))
        case "any", [ast.GeneratorExp() | ast.ListComp() as tests]:
            return _to_membership_test(tests) or call("any", _drop_redundant_list(tests))
    return None


def _simplify_collection_call(name: str, args: list[ast.expr]) -> ast.expr | None:
    """Return `list(…)`, `set(…)` or `dict(…)` of a generator as a comprehension, or None for other calls."""
    match name, args:
        case "list", [ast.GeneratorExp() | ast.ListComp() as items]:
            return ast.ListComp(items.elt, items.generators)
        case "set", [ast.GeneratorExp() | ast.ListComp() as items]:
            return ast.SetComp(items.elt, items.generators)
        case "dict", [ast.GeneratorExp(elt=ast.Tuple(elts=[key, value]), generators=generators)]:
            return ast.DictComp(key, value, generators)
    return None


def _simplify_numeric_call(name: str, args: list[ast.expr]) -> ast.expr | None:
    """Return the canonical form of a call that computes a number or a boolean, or None for other calls."""
    match name, args:
        case "pow", [base, exponent]:
            return ast.BinOp(base, ast.Pow(), exponent)
        case "bool", [value] if is_boolean(value):
            return value
        case "len", [ast.ListComp(generators=generators)]:
            return call("sum", ast.GeneratorExp(ast.Constant(1), generators))
        case "sum", [ast.GeneratorExp() | ast.ListComp() as terms]:
            return call("sum", _move_test_into_filter(_drop_redundant_list(terms)))
    return None


def _drop_default_bounds(args: list[ast.expr]) -> list[ast.expr]:
    match args:
        case [start, stop, ast.Constant(value=1)]:
            return _drop_default_bounds([start, stop])
        case [ast.Constant(value=0), stop]:
            return [stop]
    return args


def _drop_redundant_list(items: ast.expr) -> ast.expr:
    """Return an iterable without a redundant list or copy, for a function that iterates over it once."""
    match items:
        case ast.ListComp(elt=value, generators=generators):
            return _drop_redundant_list(ast.GeneratorExp(value, generators))
        case ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[]):
            return _drop_redundant_list(inner)
        case ast.GeneratorExp(
            elt=ast.Name(id=name), generators=[ast.comprehension(target=ast.Name(id=element), ifs=[])]
        ):
            return items.generators[0].iter if name == element else items
    return items


def _move_test_into_filter(terms: ast.expr) -> ast.expr:
    """Return the terms of a sum with a test as filter: `test` or `1 if test else 0` becomes `1 for … if test`."""
    if not isinstance(terms, ast.GeneratorExp):
        return terms
    innermost = terms.generators[-1]
    match terms.elt:
        case ast.IfExp(test=test, body=value, orelse=ast.Constant(value=0)):
            pass
        case test if is_boolean(test) and not isinstance(test, ast.Constant):
            value = ast.Constant(1)
        case _:
            return terms
    selection = ast.comprehension(innermost.target, innermost.iter, [*innermost.ifs, test], innermost.is_async)
    return ast.GeneratorExp(value, [*terms.generators[:-1], selection])


def _to_membership_test(tests: ast.GeneratorExp | ast.ListComp) -> ast.expr | None:
    """Return `any(x == value for x in items)` as `value in items`, or None for any other comprehension."""
    match tests:
        case ast.GeneratorExp(
            elt=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]),
            generators=[ast.comprehension(target=ast.Name(id=element), iter=items, ifs=[])],
        ):
            for side, other_side in ((left, right), (right, left)):
                if isinstance(side, ast.Name) and side.id == element and not count_occurrences(other_side, element):
                    return ast.Compare(other_side, [ast.In()], [items])
    return None


def _simplify_math_call(name: str, args: list[ast.expr], node: ast.Call) -> ast.expr:
    """Return the canonical form of a call of `math.<name>`. The form is only compared, and never run."""
    match name, args:
        case "sqrt", [number]:
            return ast.BinOp(number, ast.Pow(), ast.Constant(0.5))
        case "isqrt", [number]:
            return ast.Call(load_name("int"), [ast.BinOp(number, ast.Pow(), ast.Constant(0.5))], [])
        case "pow", [base, exponent]:
            return ast.BinOp(base, ast.Pow(), exponent)
        case "prod", [items]:
            return ast.Call(node.func, [_drop_redundant_list(items)], [])
    return node
