"""Code around a region: variables with a value before it, and those read after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from atlas.learning.analysis.closures import is_used_up
from atlas.learning.analysis.occurrences import Located, Region
from atlas.learning.analysis.purity import is_file
from atlas.learning.analysis.variables import Flows, Names
from atlas.learning.terms.scopes import COMPREHENSIONS, FUNCTIONS

LOOPS = (ast.For, ast.AsyncFor, ast.While)


def live_after(region: Region, program: Located) -> Names:
    """Return the variables that may be read after a region of statements before they are written again."""
    flows = Flows(program.symbols)
    rest = flows.of(region.following)
    live, killed = rest.reads, rest.written
    for _, parent in _upwards(region.node, program):
        if isinstance(parent, (*LOOPS, ast.Try, ast.TryStar, ast.With, ast.AsyncWith)):
            killed = frozenset()  # a `break` or an exception may leave the rest out
        live |= _around(parent, flows) - killed
        if isinstance(parent, ast.Module):
            return live | _all_symbols(parent, program)
        if isinstance(parent, FUNCTIONS):
            return live
        if isinstance(parent, ast.stmt):
            later = flows.of(_siblings(parent, program)[1])
            live |= later.reads - killed
            killed |= later.written
    return live


def _around(parent: ast.AST, flows: Flows) -> Names:
    """Return what a statement may still read once one of its blocks is done."""
    if isinstance(parent, LOOPS):
        return flows.again(parent).reads | flows.of(parent.orelse).reads
    if isinstance(parent, (ast.Try, ast.TryStar)):
        return flows.of([*parent.handlers, *parent.orelse, *parent.finalbody]).reads
    return frozenset()


def assigned_before(node: ast.AST, program: Located) -> Names:
    """Return the variables that surely have a value when a node begins."""
    flows = Flows(program.symbols)
    known: Names = frozenset()
    if isinstance(node, ast.stmt):
        known |= flows.of(_siblings(node, program)[0]).written
    for child, parent in _upwards(node, program):
        known |= _given(child, parent, flows, program)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return known - _deleted(parent)
        if isinstance(parent, ast.stmt):
            known |= flows.of(_siblings(parent, program)[0]).written
    return known


def _given(child: ast.AST, parent: ast.AST, flows: Flows, program: Located) -> Names:
    """Return the variables that a node gives values before its part is evaluated."""
    field = program.parents[id(child)][1]
    match parent:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return flows.bound(parent.args) if field == "body" else frozenset()
        case ast.For() | ast.AsyncFor():
            return flows.bound(parent.target) if field == "body" else frozenset()
        case ast.With() | ast.AsyncWith():
            return flows.of(parent.items).written if field == "body" else frozenset()
        case ast.ExceptHandler(name=str(name)):
            return frozenset([name])
        case ast.comprehension():
            return flows.bound(parent.target) if field == "ifs" else frozenset()
    return _given_by_comprehension(child, parent, flows) if isinstance(parent, COMPREHENSIONS) else frozenset()


def _given_by_comprehension(
    child: ast.AST, parent: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, flows: Flows
) -> Names:
    known: Names = frozenset()
    for generator in parent.generators:
        if generator is child:
            break
        known |= flows.bound(generator.target)
    return known


def captured(region: Region, program: Located) -> Names:
    """Return the variables that outer functions and generators may still see, but would not see a region change."""
    inside = {id(node) for part in (region.statements or (region.node,)) for node in ast.walk(part)}
    return frozenset(
        name.id
        for made in ast.walk(_function_of(region.node, program))
        if isinstance(made, (*FUNCTIONS, ast.GeneratorExp)) and id(made) not in inside
        for name in _within(made, region)
        if isinstance(name, ast.Name) and id(name) in program.symbols and not _is_over(made, program)
    )


def _is_over(made: ast.AST, program: Located) -> bool:
    return isinstance(made, (ast.Lambda, ast.GeneratorExp)) and is_used_up(made, program)


def _within(made: ast.AST, region: Region) -> Iterator[ast.AST]:
    """Return the nodes of a nested function or generator, or none of one that the region itself is in."""
    nodes = list(ast.walk(made))
    return iter(()) if any(node is region.node for node in nodes) else iter(nodes)


def is_guarded(node: ast.AST, program: Located) -> bool:
    """Return whether a node's function goes on after an exception in it, and so sees what was assigned before."""
    for child, parent in _upwards(node, program):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        if isinstance(parent, (ast.Try, ast.TryStar)) and program.parents[id(child)][1] != "finalbody":
            return True
        if isinstance(parent, (ast.With, ast.AsyncWith)) and not all(map(is_file, parent.items)):
            return True
    return False


def _function_of(node: ast.AST, program: Located) -> ast.AST:
    for _, parent in _upwards(node, program):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            return parent
    return node


def _upwards(node: ast.AST, program: Located) -> Iterator[tuple[ast.AST, ast.AST]]:
    while id(node) in program.parents:
        parent = program.parents[id(node)][0]
        yield node, parent
        node = parent


def _siblings(statement: ast.stmt, program: Located) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return the statements of the same block before and after one."""
    block = program.block_of(statement)
    index = next(number for number, other in enumerate(block) if other is statement)
    return block[:index], block[index + 1 :]


def _deleted(function: ast.AST) -> Names:
    """Return the variables that a function takes away again. `except … as` does so at its end."""
    nodes = list(ast.walk(function))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)).union(
        node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name
    )


def _all_symbols(module: ast.Module, program: Located) -> Names:
    return frozenset(node.id for node in ast.walk(module) if isinstance(node, ast.Name) and id(node) in program.symbols)
