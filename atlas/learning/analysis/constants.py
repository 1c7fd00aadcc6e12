"""Names of a module that keep one value from before they are read."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Set

from atlas.learning.terms.scopes import FUNCTIONS, IMPORTS, imported, own_nodes


def constants(module: ast.Module, symbols: Set[int]) -> frozenset[int]:
    """Return the `id` of every name that is read after it got its only value, so that it may be read at any such time.

    Its one binding stands directly in the module, not under a condition, and before what reads it; for a function that
    is before anything that may call one.
    """
    places = _places(module, symbols)
    begins = _begins(module)
    found = set()
    for number, statement in enumerate(module.body):
        for name, is_later in _read(statement):
            place = places.get(name.id)
            if place is not None and id(name) not in symbols and place < (max(number, begins) if is_later else number):
                found.add(id(name))
    return frozenset(found)


def _places(module: ast.Module, symbols: Set[int]) -> dict[str, int]:
    """Return the number of the statement that binds a name, for names that nothing else binds."""
    bound = Counter(name for node in ast.walk(module) if id(node) not in symbols for name in _bound(node))
    written = {name for node in ast.walk(module) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    return {
        name: number
        for number, statement in enumerate(module.body)
        for name in _bound_by(statement)
        if bound[name] == 1 and name not in written
    }


def _begins(module: ast.Module) -> int:
    """Return the number of the first statement that may run a function of the module's own."""
    own: set[str] = set()
    for number, statement in enumerate(module.body):
        if any(isinstance(node, (*FUNCTIONS, ast.ClassDef)) for node in ast.walk(statement)):
            own.update(name for node in own_nodes(_block(statement)) for name in _bound(node))
        if any(name.id in own for name, is_later in _read(statement) if not is_later):
            return number
    return len(module.body)


def _block(*statements: ast.stmt) -> ast.Module:
    return ast.Module(body=[*statements], type_ignores=[])


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of the module surely binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, *IMPORTS)):
        yield from _bound(statement)
    elif isinstance(statement, ast.Assign):
        for node in own_nodes(_block(statement)):
            yield from _bound(node)


def _bound(node: ast.AST) -> list[str]:
    """Return the names that a node itself binds or deletes."""
    match node:
        case ast.Name(id=name) if not isinstance(node.ctx, ast.Load):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.Import() | ast.ImportFrom():
            return imported(node)
    return []


def _read(node: ast.AST, is_later: bool = False) -> Iterator[tuple[ast.Name, bool]]:
    """Yield the names that code reads, and whether it does so only when a function is called."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node, is_later
    for child in ast.iter_child_nodes(node):
        yield from _read(child, is_later or isinstance(node, FUNCTIONS))
