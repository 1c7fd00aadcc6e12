"""Canonical comprehensions: over elements instead of indices if possible, and nested ones fused."""

from __future__ import annotations

import ast

from atlas.learning.search.forms.nodes import (
    Comprehension,
    copy_tree,
    count_occurrences,
    is_same_code,
    load_name,
    substitute,
)
from atlas.learning.terms.walking import walk


def replace_enumerate(node: Comprehension) -> Comprehension:
    """Return a comprehension over `enumerate(items)` as one over positions: `item` becomes `items[position]`."""
    match node.generators:
        case [
            ast.comprehension(
                target=ast.Tuple(elts=[ast.Name(id=position), ast.Name(id=element)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name() as items], keywords=[]),
            ) as first,
            *_,
        ]:
            first.target, first.iter = ast.Name(position, ast.Store()), positions_of(items)
            return substitute(node, {element: element_at(items, position)})
    return node


def positions_of(items: ast.expr) -> ast.expr:
    """Return `range(len(items))`."""
    length = ast.Call(load_name("len"), [copy_tree(items)], [])
    return ast.Call(load_name("range"), [length], [])


def element_at(items: ast.expr, position: str) -> ast.expr:
    """Return `items[position]`."""
    return ast.Subscript(copy_tree(items), load_name(position), ast.Load())


def indexed_items(iterated: ast.expr) -> ast.expr | None:
    """Return `items` if `iterated` is `range(len(items))`, otherwise None."""
    match iterated:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[items], keywords=[])]):
            return items
    return None


def read_elements(node: ast.AST, items: ast.expr, position: str) -> ast.AST | None:
    """Return a copy in which the variable `position` replaces `items[position]`, or None if it has other uses."""
    reader = _ElementReader(items, position)
    replaced = reader.visit(copy_tree(node))
    return replaced if count_occurrences(replaced, position) == reader.n_replaced else None


class _ElementReader(ast.NodeTransformer):
    def __init__(self, items: ast.expr, position: str) -> None:
        self._element = element_at(items, position)
        self._position = position
        self.n_replaced = 0

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and is_same_code(node, self._element):
            self.n_replaced += 1
            return load_name(self._position)
        self.generic_visit(node)
        return node


def iterate_over_elements(node: Comprehension) -> Comprehension:
    """Return a comprehension over positions as one over elements, if the positions only select elements."""
    for index, generator in enumerate(node.generators):
        items = indexed_items(generator.iter)
        if items is None or not isinstance(generator.target, ast.Name):
            continue
        without_generator = copy_tree(node)
        without_generator.generators[index].target = without_generator.generators[index].iter = ast.Constant(None)
        over_elements = read_elements(without_generator, items, generator.target.id)
        if isinstance(over_elements, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            over_elements.generators[index].target, over_elements.generators[index].iter = generator.target, items
            return over_elements
    return node


def merge_nested_comprehensions(node: Comprehension) -> Comprehension:
    """Return a comprehension over a nested comprehension as a single comprehension."""
    for index, generator in enumerate(node.generators):
        inner = generator.iter
        if not isinstance(inner, ast.ListComp | ast.GeneratorExp) or not isinstance(generator.target, ast.Name):
            continue
        without_generator = copy_tree(node)
        without_generator.generators[index].target = without_generator.generators[index].iter = ast.Constant(None)
        substituted = substitute(without_generator, {generator.target.id: inner.elt})
        innermost = inner.generators[-1]
        ifs = [*innermost.ifs, *substituted.generators[index].ifs]
        merged = [*inner.generators[:-1], ast.comprehension(innermost.target, innermost.iter, ifs, innermost.is_async)]
        substituted.generators[index : index + 1] = merged
        return substituted
    return node


def map_as_generator(function: ast.expr, items: ast.expr) -> ast.GeneratorExp | None:
    """Return `map(function, items)` as a generator, or None for a function that takes more than one argument."""
    name = _free_name(items, function)
    match function:
        case ast.Lambda(args=ast.arguments(posonlyargs=[], args=[only], vararg=None, kwonlyargs=[], kwarg=None)):
            return ast.GeneratorExp(function.body, [_generator(only.arg, items)])
        case ast.Lambda():
            return None
    value = ast.Call(copy_tree(function), [load_name(name)], [])
    return ast.GeneratorExp(value, [_generator(name, items)])


def filter_as_generator(function: ast.expr, items: ast.expr) -> ast.GeneratorExp | None:
    """Return `filter(function, items)` as a generator, or None for a function that takes more than one argument."""
    if isinstance(function, ast.Constant) and function.value is None:
        name = _free_name(items, function)
        return ast.GeneratorExp(load_name(name), [_generator(name, items, load_name(name))])
    generator = map_as_generator(function, items)
    if generator is None or not isinstance(generator.generators[0].target, ast.Name):
        return None
    name = generator.generators[0].target.id
    return ast.GeneratorExp(load_name(name), [_generator(name, items, generator.elt)])


def _generator(name: str, items: ast.expr, *tests: ast.expr) -> ast.comprehension:
    return ast.comprehension(target=ast.Name(name, ast.Store()), iter=items, ifs=list(tests), is_async=0)


def _free_name(*nodes: ast.AST) -> str:
    """Return a name that occurs in none of the trees."""
    names_in_trees = {node.id for tree in nodes for node in walk(tree) if isinstance(node, ast.Name)}
    return next(
        name for name in (f"each_{number}" for number in range(len(names_in_trees) + 1)) if name not in names_in_trees
    )
