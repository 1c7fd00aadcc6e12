"""Canonical expressions, for example with comparisons in one direction."""

from __future__ import annotations

import ast

from atlas.learning.search.forms.calls import simplify_call
from atlas.learning.search.forms.comprehensions import (
    iterate_over_elements,
    merge_nested_comprehensions,
    replace_enumerate,
)
from atlas.learning.search.forms.nodes import Comprehension, is_boolean, is_same_code, negate, to_boolean, tree_key

_MIRRORED_OPERATORS: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def simplify(statement: ast.stmt) -> ast.stmt:
    """Return a statement with canonical expressions. Inner expressions are simplified first."""
    changed: ast.stmt = _Simplifier().visit(statement)
    return changed


class _Simplifier(ast.NodeTransformer):
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = _simplify_test(node.operand)
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[_]) | ast.UnaryOp(op=ast.Not()) as inner):
                return negate(inner)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return ast.Constant(-number)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1:
            sides = [node.left, *node.comparators]
            pairs = zip(sides, node.ops, sides[1:], strict=False)
            return ast.BoolOp(
                ast.And(), [_normalise_comparison(ast.Compare(left, [op], [right])) for left, op, right in pairs]
            )
        return _normalise_comparison(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Flatten nested operations of the same kind."""
        self.generic_visit(node)
        values: list[ast.expr] = []
        for value in node.values:
            is_same = isinstance(value, ast.BoolOp) and type(value.op) is type(node.op)
            values += value.values if is_same and isinstance(value, ast.BoolOp) else [value]
        return ast.BoolOp(node.op, values)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return _simplify_choice(_simplify_test(node.test), node.body, node.orelse)

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        node.test = _simplify_test(node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        self.generic_visit(node)
        node.test = _simplify_test(node.test)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        tests = [part for test in node.ifs for part in _conjuncts(_simplify_test(test))]
        node.ifs = [ast.BoolOp(ast.And(), tests)] if len(tests) > 1 else tests
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Name) and is_same_code(node.left, node.right):
            return ast.BinOp(node.left, ast.Pow(), ast.Constant(2))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node.slice:
            case ast.Slice(lower=ast.Constant(value=0), step=None) as part:
                part.lower = None
        match node.slice:
            case ast.Slice(step=ast.Constant(value=1)) as part:
                part.step = None
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="all" | "any"), args=[ast.GeneratorExp() | ast.ListComp() as tests]):
                tests.elt = _simplify_test(tests.elt)
        return simplify_call(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        return self._comprehension(node)

    def _comprehension(self, node: Comprehension) -> ast.expr:
        self.generic_visit(node)
        simplified = iterate_over_elements(merge_nested_comprehensions(replace_enumerate(node)))
        match simplified:
            case ast.ListComp(
                elt=ast.Name(id=name), generators=[ast.comprehension(target=ast.Name(id=element), ifs=[])]
            ):
                if name == element:
                    return ast.Call(ast.Name("list", ast.Load()), [simplified.generators[0].iter], [])
            case ast.ListComp(
                elt=ast.Constant() as value,
                generators=[
                    ast.comprehension(iter=ast.Call(func=ast.Name(id="range"), args=[length], keywords=[]), ifs=[])
                ],
            ):
                return ast.BinOp(ast.List([value], ast.Load()), ast.Mult(), length)
        return simplified


def _normalise_comparison(node: ast.Compare) -> ast.Compare:
    """Return a comparison with `<` instead of `>`, and with the literal of `==` or `!=` on the right."""
    operator = type(node.ops[0])
    right = node.comparators[0]
    if operator in _MIRRORED_OPERATORS:
        return ast.Compare(right, [_MIRRORED_OPERATORS[operator]()], [node.left])
    if operator in (ast.Eq, ast.NotEq) and isinstance(node.left, ast.Constant):
        return ast.Compare(right, node.ops, [node.left])
    return node


def _simplify_test(test: ast.expr) -> ast.expr:
    """Return a test without a redundant `bool`, and with `x % n` as a comparison with 0."""
    match test:
        case ast.Call(func=ast.Name(id="bool"), args=[inner], keywords=[]):
            return _simplify_test(inner)
        case ast.BinOp(op=ast.Mod()):
            return ast.Compare(test, [ast.NotEq()], [ast.Constant(0)])
    return test


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _simplify_choice(test: ast.expr, body: ast.expr, other: ast.expr) -> ast.expr:
    """Return `body if test else other`, simplified if one or both of the values are True or False."""
    as_test = _choice_as_test(test, body, other)
    if as_test is not None:
        return as_test
    match other:
        case ast.IfExp(test=next_test, body=other_body, orelse=last_value) if is_same_code(body, other_body):
            return ast.IfExp(ast.BoolOp(ast.Or(), [test, next_test]), body, last_value)
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return ast.IfExp(inner, other, body)
        case ast.Compare(ops=[ast.NotEq() | ast.NotIn() | ast.IsNot()]):
            return ast.IfExp(negate(test), other, body)
    return ast.IfExp(test, body, other)


def _choice_as_test(test: ast.expr, body: ast.expr, other: ast.expr) -> ast.expr | None:
    """Return a choice between booleans as one test, or None if a value may have another type."""
    if tree_key(body) == tree_key(other):
        return body
    constants = [value.value if isinstance(value, ast.Constant) else None for value in (body, other)]
    if constants == [True, False] or constants == [False, True]:
        return to_boolean(test) if constants[0] else negate(test)
    if isinstance(constants[0], bool) and is_boolean(other):
        if constants[0]:
            return ast.BoolOp(ast.Or(), [to_boolean(test), other])
        return ast.BoolOp(ast.And(), [negate(test), other])
    if isinstance(constants[1], bool) and is_boolean(body):
        if constants[1]:
            return ast.BoolOp(ast.Or(), [negate(test), body])
        return ast.BoolOp(ast.And(), [to_boolean(test), body])
    return None
