"""Module-level names that are assigned once, before they are read."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Set

from atlas.learning.terms.scopes import FUNCTIONS, IMPORTS, imported_names, own_nodes
from atlas.learning.terms.walking import walk


def constant_reads(module: ast.Module, symbols: Set[int]) -> frozenset[int]:
    """Return the `id` of every node that reads a constant. Such a node may be moved within the program.

    A constant is bound once, by an unconditional statement of the module that precedes the read. If the read is in a
    function, the statement also precedes the first statement that may call a function.
    """
    binding_indices = _binding_indices(module, symbols)
    first_call = _first_call(module)
    constant_ids = set()
    for index, statement in enumerate(module.body):
        for name, is_in_function in _reads(statement):
            binding_index = binding_indices.get(name.id)
            if (
                binding_index is not None
                and id(name) not in symbols
                and binding_index < (max(index, first_call) if is_in_function else index)
            ):
                constant_ids.add(id(name))
    return frozenset(constant_ids)


def _binding_indices(module: ast.Module, symbols: Set[int]) -> dict[str, int]:
    """Return the index of the statement that binds each name, for names that are bound once."""
    bound = Counter(name for node in walk(module) if id(node) not in symbols for name in _bindings(node))
    declared = {name for node in walk(module) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    indices = dict[str, int]()
    for index, statement in enumerate(module.body):
        indices |= {name: index for name in _certain_bindings(statement) if bound[name] == 1 and name not in declared}
    return indices


def _first_call(module: ast.Module) -> int:
    """Return the index of the first statement that may call a function of the module."""
    own_names: set[str] = set()
    for index, statement in enumerate(module.body):
        if any(isinstance(node, (*FUNCTIONS, ast.ClassDef)) for node in walk(statement)):
            own_names.update(name for node in own_nodes(_as_module(statement)) for name in _bindings(node))
        if any(name.id in own_names for name, is_in_function in _reads(statement) if not is_in_function):
            return index
    return len(module.body)


def _as_module(*statements: ast.stmt) -> ast.Module:
    return ast.Module(body=[*statements], type_ignores=[])


def _certain_bindings(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a module-level statement binds on every path."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, *IMPORTS)):
        yield from _bindings(statement)
    elif isinstance(statement, ast.Assign):
        for node in own_nodes(_as_module(statement)):
            yield from _bindings(node)


def _bindings(node: ast.AST) -> list[str]:
    """Return the names that a node binds or deletes, not counting its children."""
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
            return imported_names(node)
    return []


def _reads(node: ast.AST, is_in_function: bool = False) -> Iterator[tuple[ast.Name, bool]]:
    """Yield the names that code reads, each with whether the read is inside a function."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node, is_in_function
    for child in ast.iter_child_nodes(node):
        yield from _reads(child, is_in_function or isinstance(node, FUNCTIONS))
