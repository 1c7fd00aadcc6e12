"""Rules that rewrite loops as equivalent comprehensions, sums and tests."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from atlas.learning.search.forms.blocks import Rule
from atlas.learning.search.forms.comprehensions import element_at, indexed_items, positions_of, read_elements
from atlas.learning.search.forms.nodes import (
    call,
    changed_names,
    copy_tree,
    count_names,
    count_occurrences,
    load_name,
    negate,
    substitute,
)
from atlas.learning.terms.walking import walk

_NUMBERS = (int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnnestedLoop:
    """Nested loops and tests around one statement, as the generators of a comprehension."""

    generators: list[ast.comprehension]
    statement: ast.stmt


def unnest(loop: ast.stmt) -> UnnestedLoop | None:
    """Return a loop as generators and a statement, or None if it contains several statements or may end early."""
    generators: list[ast.comprehension] = []
    inner = loop
    while True:
        match inner:
            case ast.For(target=target, iter=items, body=[only], orelse=[]):
                generators.append(ast.comprehension(target, items, [], 0))
            case ast.If(test=test, body=[only], orelse=[]) if generators:
                generators[-1].ifs.append(test)
            case _:
                break
        inner = only
    return UnnestedLoop(generators=generators, statement=inner) if generators else None


def use_quantifier(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Write a loop that returns True or False early as `any` or `all`."""
    match block:
        case [ast.For() as loop, ast.Return(value=ast.Constant(value=bool(default)))]:
            unnested = unnest(loop)
            if unnested is None or not unnested.generators[-1].ifs:
                return None
            match unnested.statement:
                case ast.Return(value=ast.Constant(value=bool(result))) if result is not default:
                    return [ast.Return(_as_quantifier(unnested.generators, result))]
    return None


def _as_quantifier(generators: list[ast.comprehension], result: bool) -> ast.expr:
    """Return a loop that returns `result` early as a test: `any` for True, and `all` of the negated test for False."""
    *outer, innermost = generators
    test = innermost.ifs[0] if len(innermost.ifs) == 1 else ast.BoolOp(ast.And(), innermost.ifs)
    untested = [*outer, ast.comprehension(innermost.target, innermost.iter, [], 0)]
    if result:
        return call("any", ast.GeneratorExp(test, untested))
    return call("all", ast.GeneratorExp(negate(test), untested))


def use_next(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Write a loop that returns the first match as `next`."""
    match block:
        case [ast.For() as loop, ast.Return(value=default)]:
            unnested = unnest(loop)
            match unnested:
                case UnnestedLoop(statement=ast.Return(value=ast.expr() as value)) if unnested.generators[-1].ifs:
                    is_truth = isinstance(value, ast.Constant) and isinstance(value.value, bool)
                    generator = ast.GeneratorExp(value, unnested.generators)
                    if is_truth:
                        return None
                    return [ast.Return(call("next", generator, default or ast.Constant(None)))]
    return None


def use_comprehension(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Write a loop that fills an empty collection, or computes a sum, as one expression."""
    match block:
        case [ast.Assign(targets=[ast.Name(id=name)], value=start), *rest]:
            position = next((index for index, statement in enumerate(rest) if count_occurrences(statement, name)), None)
            if position is None:
                return None
            unnested = unnest(rest[position])
            value = _value_after_loop(name, start, unnested) if unnested is not None else None
            if value is not None:
                assignment = ast.Assign([ast.Name(name, ast.Store())], value)
                return [*rest[:position], assignment, *rest[position + 1 :]]
    return None


def _value_after_loop(name: str, start: ast.expr, loop: UnnestedLoop) -> ast.expr | None:
    """Return an expression for the value that a variable has after a loop, or None if there is none."""
    if (
        any(count_occurrences(generator, name) for generator in loop.generators)
        or count_occurrences(loop.statement, name) != 1
    ):
        return None
    generators = loop.generators
    match start, loop.statement:
        case ast.List(elts=[]) | ast.Call(func=ast.Name(id="list"), args=[]), ast.Expr(
            value=ast.Call(func=ast.Attribute(attr="append"), args=[value])
        ):
            return ast.ListComp(value, generators)
        case ast.List(elts=[]), ast.AugAssign(op=ast.Add(), value=ast.List(elts=[value])):
            return ast.ListComp(value, generators)
        case ast.List(elts=[]), ast.AugAssign(op=ast.Add(), value=values) | ast.Expr(
            value=ast.Call(func=ast.Attribute(attr="extend"), args=[values])
        ):
            return ast.ListComp(
                load_name("each"), [*generators, ast.comprehension(ast.Name("each", ast.Store()), values, [], 0)]
            )
        case ast.Call(func=ast.Name(id="set"), args=[]), ast.Expr(
            value=ast.Call(func=ast.Attribute(attr="add"), args=[value])
        ):
            return ast.SetComp(value, generators)
        case ast.Dict(keys=[]) | ast.Call(func=ast.Name(id="dict"), args=[]), ast.Assign(
            targets=[ast.Subscript(value=ast.Name(), slice=key)], value=value
        ):
            return ast.DictComp(key, value, generators)
        case ast.Constant(value=""), ast.AugAssign(op=ast.Add(), value=value):
            return ast.Call(
                ast.Attribute(ast.Constant(""), "join", ast.Load()), [ast.GeneratorExp(value, generators)], []
            )
    return _sum_or_product(start, loop)


def _sum_or_product(start: ast.expr, loop: UnnestedLoop) -> ast.expr | None:
    """Return a loop that adds up or multiplies values as one expression, or None for other loops."""
    match start, loop.statement:
        case ast.Constant(value=int() | float() as first), ast.AugAssign(op=ast.Add(), value=value):
            total = call("sum", ast.GeneratorExp(value, loop.generators))
            return total if first == 0 else ast.BinOp(start, ast.Add(), total)
        case ast.Constant(value=1), ast.AugAssign(op=ast.Mult(), value=value):
            product = ast.Attribute(load_name("math"), "prod", ast.Load())
            return ast.Call(product, [ast.GeneratorExp(value, loop.generators)], [])
    return None


def use_sum(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Write a loop that only counts, or adds sums, as `n += sum(… for …)`."""
    match block:
        case [ast.For() as loop, *rest]:
            unnested = unnest(loop)
            match unnested:
                case UnnestedLoop(
                    statement=ast.AugAssign(target=ast.Name(id=name) as target, op=ast.Add(), value=value)
                ) if not any(count_occurrences(generator, name) for generator in unnested.generators):
                    total = _sum_over(unnested.generators, value)
                    return None if total is None else [ast.AugAssign(target, ast.Add(), total), *rest]
    return None


def _sum_over(generators: list[ast.comprehension], value: ast.expr) -> ast.expr | None:
    """Return the sum of a value over generators, or None if it may not be a number."""
    match value:
        case ast.Constant(value=int() | float()):
            return call("sum", ast.GeneratorExp(value, generators))
        case ast.Call(func=ast.Name(id="sum"), args=[ast.GeneratorExp(elt=inner, generators=others)]):
            return call("sum", ast.GeneratorExp(inner, [*generators, *others]))
    return None


def merge_sum(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Write `n = 0` directly followed by `n += x` as `n = x`."""
    match block:
        case [
            ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Constant(value=0)),
            ast.AugAssign(
                target=ast.Name(id=added_name), op=ast.Add(), value=ast.Call(func=ast.Name(id="sum")) as value
            ),
            *rest,
        ] if name == added_name:
            return [ast.Assign([target], value), *rest]
    return None


def replace_positions(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Replace indices that only select elements by the elements, and `enumerate` by indices."""
    match block:
        case [ast.For(target=ast.Name(id=position), iter=iterated, body=body, orelse=else_body), *rest]:
            items = indexed_items(iterated)
            if items is None or set(count_names([items])) & changed_names(body):
                return None
            wrapped_body = ast.If(ast.Constant(None), body, [])
            over_elements = read_elements(wrapped_body, items, position)
            is_used_in_body_only = counts[position] == 1 + count_occurrences(wrapped_body, position)
            if (
                isinstance(over_elements, ast.If)
                and is_used_in_body_only
                and count_occurrences(over_elements, position)
            ):
                return [ast.For(ast.Name(position, ast.Store()), items, over_elements.body, else_body), *rest]
        case [
            ast.For(
                target=ast.Tuple(elts=[ast.Name(id=position), ast.Name(id=element)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name() as items], keywords=[]),
                body=body,
                orelse=else_body,
            ),
            *rest,
        ] if element not in changed_names(body) and items.id not in changed_names(body):
            by_position = [substitute(statement, {element: element_at(items, position)}) for statement in body]
            return [ast.For(ast.Name(position, ast.Store()), positions_of(items), by_position, else_body), *rest]
    return None


def replace_counting_while(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Write a `while` that counts a variable up by one as a `for` over a range."""
    match block:
        case [ast.Assign(targets=[ast.Name(id=name)], value=start), *rest]:
            position = next(
                (index for index, statement in enumerate(rest) if count_occurrences(statement, name)), len(rest)
            )
            preceding = rest[:position]
            loop = rest[position : position + 1]
            following = rest[position + 1 :]
            if changed_names(preceding) & set(count_names([start])) or any(
                count_occurrences(statement, name) for statement in following
            ):
                return None
            range_loop = _as_range_loop(name, start, loop[0]) if loop else None
            return None if range_loop is None else [*preceding, range_loop, *following]
    return None


def _as_range_loop(name: str, start: ast.expr, loop: ast.stmt) -> ast.For | None:
    """Return a `while` as a `for`, or None if its variable changes other than by a final `+= 1`."""
    match loop:
        case ast.While(
            test=ast.Compare(left=ast.Name(id=tested), ops=[ast.Lt() | ast.LtE() as operator], comparators=[stop]),
            body=[_, *_, ast.AugAssign(target=ast.Name(id=stepped), op=ast.Add(), value=ast.Constant(value=1))] as body,
            orelse=else_body,
        ) if name == tested == stepped:
            repeated = body[:-1]
            changed = changed_names(repeated)
            if name in changed or changed & set(count_names([stop])) or _has_continue(repeated):
                return None
            bound = stop if isinstance(operator, ast.Lt) else ast.BinOp(copy_tree(stop), ast.Add(), ast.Constant(1))
            return ast.For(ast.Name(name, ast.Store()), call("range", start, bound), repeated, else_body)
    return None


def _has_continue(block: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Continue) for statement in block for node in walk(statement))


def replace_continue(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Replace an `if` that continues by the negated test around the statements that it skips."""
    match block:
        case [ast.For() | ast.While() as loop, *rest]:
            for position, statement in enumerate(loop.body[:-1]):
                match statement:
                    case ast.If(test=test, body=[ast.Continue()], orelse=[]):
                        guarded = ast.If(negate(test), loop.body[position + 1 :], [])
                        loop.body = [*loop.body[:position], guarded]
                        return [loop, *rest]
    return None


def inline_loop_else(block: list[ast.stmt], counts: Counter[str]) -> list[ast.stmt] | None:
    """Move the body of a loop's `else` after the loop, if the loop has no `break`."""
    match block:
        case [ast.For(orelse=[_, *_] as else_body) | ast.While(orelse=[_, *_] as else_body) as loop, *rest]:
            if not any(isinstance(node, ast.Break) for statement in loop.body for node in walk(statement)):
                loop.orelse = []
                return [loop, *else_body, *rest]
    return None


RULES: tuple[Rule, ...] = (
    inline_loop_else,
    replace_continue,
    replace_counting_while,
    replace_positions,
    use_comprehension,
    use_sum,
    merge_sum,
    use_quantifier,
    use_next,
)
