"""Code around a region: variables that are assigned before it, and variables that are read after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from atlas.learning.analysis.closures import is_consumed
from atlas.learning.analysis.occurrences import ProgramTree, Region
from atlas.learning.analysis.purity import is_file
from atlas.learning.analysis.variables import Flows, Names
from atlas.learning.terms.scopes import COMPREHENSIONS, FUNCTIONS
from atlas.learning.terms.walking import walk

LOOPS = (ast.For, ast.AsyncFor, ast.While)


def live_variables(region: Region, program: ProgramTree) -> Names:
    """Return the live variables at the end of a region, which later code may read before it writes them."""
    flows = Flows(program.symbols)
    following = flows.of(region.following)
    live, overwritten = following.reads, following.written
    for _, parent in _ancestors(region.node, program):
        if isinstance(parent, (*LOOPS, ast.Try, ast.TryStar, ast.With, ast.AsyncWith)):
            overwritten = frozenset()  # a `break` or an exception may leave the rest out
        live |= _reads_of_parent(parent, flows) - overwritten
        if isinstance(parent, ast.Module):
            return live | _all_variables(parent, program)
        if isinstance(parent, FUNCTIONS):
            return live
        if isinstance(parent, ast.stmt):
            after_parent = flows.of(_siblings(parent, program)[1])
            live |= after_parent.reads - overwritten
            overwritten |= after_parent.written
    return live


def _reads_of_parent(parent: ast.AST, flows: Flows) -> Names:
    """Return the variables that a compound statement may read after one of its blocks has run."""
    if isinstance(parent, LOOPS):
        return flows.later_iterations(parent).reads | flows.of(parent.orelse).reads
    if isinstance(parent, (ast.Try, ast.TryStar)):
        return flows.of([*parent.handlers, *parent.orelse, *parent.finalbody]).reads
    return frozenset()


def assigned_variables(node: ast.AST, program: ProgramTree) -> Names:
    """Return the variables that are assigned on every path that leads to a node."""
    flows = Flows(program.symbols)
    assigned: Names = frozenset()
    if isinstance(node, ast.stmt):
        assigned |= flows.of(_siblings(node, program)[0]).written
    for child, parent in _ancestors(node, program):
        assigned |= _parent_assignments(child, parent, flows, program)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return assigned - _deleted_variables(parent)
        if isinstance(parent, ast.stmt):
            assigned |= flows.of(_siblings(parent, program)[0]).written
    return assigned


def _parent_assignments(child: ast.AST, parent: ast.AST, flows: Flows, program: ProgramTree) -> Names:
    """Return the variables that a parent node assigns before it evaluates its child."""
    field = program.parents[id(child)][1]
    match parent:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return flows.bound_variables(parent.args) if field == "body" else frozenset()
        case ast.For() | ast.AsyncFor():
            return flows.bound_variables(parent.target) if field == "body" else frozenset()
        case ast.With() | ast.AsyncWith():
            return flows.of(parent.items).written if field == "body" else frozenset()
        case ast.ExceptHandler(name=str(name)):
            return frozenset([name])
        case ast.comprehension():
            return flows.bound_variables(parent.target) if field == "ifs" else frozenset()
    return _comprehension_assignments(child, parent, flows) if isinstance(parent, COMPREHENSIONS) else frozenset()


def _comprehension_assignments(
    child: ast.AST, parent: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, flows: Flows
) -> Names:
    assigned: Names = frozenset()
    for generator in parent.generators:
        if generator is child:
            break
        assigned |= flows.bound_variables(generator.target)
    return assigned


def captured_variables(region: Region, program: ProgramTree) -> Names:
    """Return the variables that closures outside a region read.

    If the region became a function, these closures would not see the assignments in it.
    """
    region_ids = {id(node) for part in (region.statements or (region.node,)) for node in walk(part)}
    captured = set[str]()
    for closure in walk(_enclosing_scope(region.node, program)):
        is_closure = isinstance(closure, (*FUNCTIONS, ast.GeneratorExp))
        if not is_closure or id(closure) in region_ids or _is_short_lived(closure, program):
            continue
        names = [node for node in _nodes_of_separate_closure(closure, region) if isinstance(node, ast.Name)]
        captured.update(name.id for name in names if id(name) in program.symbols)
    return frozenset(captured)


def _is_short_lived(closure: ast.AST, program: ProgramTree) -> bool:
    """Return whether a closure is used only by the call that it is passed to."""
    return isinstance(closure, (ast.Lambda, ast.GeneratorExp)) and is_consumed(closure, program)


def _nodes_of_separate_closure(closure: ast.AST, region: Region) -> Iterator[ast.AST]:
    """Yield the nodes of a closure. Nothing is yielded if the closure contains the region."""
    nodes = list(walk(closure))
    return iter(()) if any(node is region.node for node in nodes) else iter(nodes)


def is_guarded(node: ast.AST, program: ProgramTree) -> bool:
    """Return whether a `try` or `with` in the same function may catch an exception that a node raises."""
    for child, parent in _ancestors(node, program):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        if isinstance(parent, (ast.Try, ast.TryStar)) and program.parents[id(child)][1] != "finalbody":
            return True
        if isinstance(parent, (ast.With, ast.AsyncWith)) and not all(map(is_file, parent.items)):
            return True
    return False


def _enclosing_scope(node: ast.AST, program: ProgramTree) -> ast.AST:
    for _, parent in _ancestors(node, program):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            return parent
    return node


def _ancestors(node: ast.AST, program: ProgramTree) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each ancestor of a node as its parent, with the child that leads to the node before it."""
    while id(node) in program.parents:
        parent = program.parents[id(node)][0]
        yield node, parent
        node = parent


def _siblings(statement: ast.stmt, program: ProgramTree) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return the statements before and after a statement in its block."""
    block = program.block_of(statement)
    index = next(number for number, sibling in enumerate(block) if sibling is statement)
    return block[:index], block[index + 1 :]


def _deleted_variables(function: ast.AST) -> Names:
    """Return the variables that a function deletes. `except … as` deletes its name at the end."""
    nodes = list(walk(function))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)).union(
        node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name
    )


def _all_variables(module: ast.Module, program: ProgramTree) -> Names:
    return frozenset(node.id for node in walk(module) if isinstance(node, ast.Name) and id(node) in program.symbols)
