"""Imports of programs: star imports expanded, unread imports removed, and lengths counted per module."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TypeGuard

from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.names import Function
from atlas.learning.terms.scopes import IMPORTS, imported_names, is_constant
from atlas.learning.terms.walking import walk

CALLING_SYNTAX = (ast.Call, ast.Await, ast.Attribute, ast.Subscript, ast.comprehension)
"""Syntax that may run functions defined before it."""

ALIAS_TOKENS = 2
"""Tokens of ` as name`."""


def star_modules(module: ast.Module) -> list[str]:
    """Return the module of each star import of a program, or an empty string for a relative import."""
    return ["" if node.level else str(node.module) for node in walk(module) if _is_star(node)]


def expand_stars(module: ast.Module, public: Mapping[str, frozenset[str]], read_later: frozenset[str]) -> ast.Module:
    """Return a program with each star import replaced by imports of the names that the program reads.

    Names that the program binds before any use are left out. A module of which the program reads no name is still
    imported, because of side effects.

    Args:
        public: The public names of each star-imported module.
        read_later: Names that the code after the program, such as its tests, reads.
    """
    read = read_names(module) | read_later
    body: list[ast.stmt] = []
    for index, node in enumerate(module.body):
        if not _is_star(node):
            body.append(node)
            continue
        names = _names_needed_from_star(module.body, index, public[str(node.module)] & read, public)
        body.append(_make_import(str(node.module), sorted(names), read) or node)
    return ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))


def _is_star(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _make_import(module: str, names: list[str], read: frozenset[str]) -> ast.stmt | None:
    """Return an import of names from a module, or of the module itself if there are no names.

    The result is None if importing the module would rebind a name that the program reads.
    """
    if names:
        return ast.ImportFrom(module=module, names=[ast.alias(name) for name in names], level=0)
    return None if module.partition(".")[0] in read else ast.Import(names=[ast.alias(module)])


def _names_needed_from_star(
    body: list[ast.stmt], star_index: int, names: frozenset[str], public: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    """Return the names that code after a star import may read before it binds them again.

    The body of a function counts as read by the next statement that may call a function.

    Args:
        star_index: Position of the star import in the body.
    """
    needed, bound_before = set[str](), set[str]()
    read_in_functions = set(
        read_names(*(part for node in body[:star_index] if isinstance(node, Function) for part in node.body))
    )
    for statement in body[star_index + 1 :]:
        read, bound = _read_and_bound_names(statement, public)
        if _may_call(statement):
            read |= read_in_functions
        if isinstance(statement, Function):
            read_in_functions |= read_names(*statement.body)
        needed |= read - bound_before
        bound_before |= bound - needed
    return names - bound_before


def _may_call(statement: ast.stmt) -> bool:
    """Return whether a statement may run functions that were defined before it."""
    if isinstance(statement, Function):
        return bool(statement.decorator_list)
    return any(isinstance(part, CALLING_SYNTAX) for part in walk(statement))


def _read_and_bound_names(statement: ast.stmt, public: Mapping[str, frozenset[str]]) -> tuple[set[str], set[str]]:
    """Return the names that a statement reads immediately, and the names that it always binds.

    Compound statements may bind names only on some paths, so all names in them count as read and none as bound.
    """
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return set(read_names(*statement.decorator_list, statement.args)), {statement.name}
        case ast.ClassDef():
            return set(read_names(statement)), {statement.name}
        case ast.ImportFrom() if _is_star(statement):
            return set(), set(public.get(str(statement.module), ()))
        case ast.Import() | ast.ImportFrom():
            return set(), set(imported_names(statement))
        case ast.Assign(targets=[ast.Name(id=name)]):
            return set(read_names(statement)), {name}
    return {node.id for node in walk(statement) if isinstance(node, ast.Name)}, set()


def read_names(*nodes: ast.AST) -> frozenset[str]:
    """Return the names that code reads or deletes anywhere."""
    parts = [part for node in nodes for part in walk(node)]
    augmented = {id(part.target) for part in parts if isinstance(part, ast.AugAssign)}  # `x += 1` also reads it
    names = [part for part in parts if isinstance(part, ast.Name)]
    return frozenset(name.id for name in names if id(name) in augmented or not isinstance(name.ctx, ast.Store))


def mentioned_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that code reads, writes, deletes or declares."""
    for part in walk(node):
        match part:
            case ast.Name(id=name):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names


def removable_imports(module: ast.Module, read_later: frozenset[str]) -> frozenset[str]:
    """Return the imported names whose imports may be removed once the program no longer reads them.

    An import that is never read is kept, because it may have side effects. `import a.b as c` is kept if `a` is bound
    too, because `a.b` may be read through `a`. A program with `__all__` keeps all imports.

    Args:
        read_later: Names that the code after the program, such as its tests, reads.
    """
    if "__all__" in mentioned_names(module):
        return frozenset()
    bound = set[str]()
    for scope in walk(module):
        if isinstance(scope, (ast.Module, *_FUNCTIONS)):
            for node in scope.body:
                bound.update(imported_names(node) if isinstance(node, IMPORTS) else ())
    return (read_names(module) & bound) - read_later - _aliases_reachable_by_path(module, bound) - {"*"}


def _aliases_reachable_by_path(module: ast.Module, bound: set[str]) -> set[str]:
    """Return the aliases of modules that can also be reached as an attribute of an imported package."""
    aliases = [alias for node in walk(module) if isinstance(node, ast.Import) for alias in node.names]
    return {
        alias.asname
        for alias in aliases
        if alias.asname and "." in alias.name and alias.name.partition(".")[0] in bound
    }


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def remove_unread_imports(module: ast.Module, removable: frozenset[str]) -> ast.Module:
    """Remove the removable imports whose names a program does not mention. Change and return the same tree.

    Only imports at the top level of the module or of a function are removed.
    """
    removed = removable.difference(mentioned_names(module))
    if not removed:
        return module
    for scope in walk(module):
        if isinstance(scope, (ast.Module, *_FUNCTIONS)):
            remaining = [part for node in scope.body if (part := remove_names(node, removed)) is not None]
            scope.body = remaining or scope.body
    return module


def remove_names(node: ast.stmt, removed: frozenset[str]) -> ast.stmt | None:
    """Return an import statement without some names, or None if no name is left."""
    if not isinstance(node, IMPORTS):
        return node
    names = [alias for alias, name in zip(node.names, imported_names(node), strict=True) if name not in removed]
    if not names:
        return None
    return ast.Import(names=names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)


def merge_imports(statements: Iterable[str]) -> list[str]:
    """Return equivalent import statements, with one for all names of a module. Assignments of constants come last.

    Args:
        statements: Imports of one name each, and assignments of constants.
    """
    whole_modules, names_by_module, constants = set[str](), defaultdict[str, set[str]](set), set[str]()
    for statement in statements:
        if is_constant(statement):
            constants.add(statement)
            continue
        module, name = _split_import(statement)
        if module:
            names_by_module[module].add(name)
        else:
            whole_modules.add(statement)
    return [
        *sorted(whole_modules),
        *(f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(names_by_module.items())),
        *sorted(constants),
    ]


@cache
def n_import_tokens(statements: frozenset[str]) -> int:
    """Return the number of tokens of merged import statements.

    If two statements bind the same name differently, the tokens of an alias are added.

    Args:
        statements: Imports of one name each.
    """
    bound = Counter(
        name for statement in statements for node in _parse_imports(statement) for name in imported_names(node)
    )
    n_aliases = sum(count - 1 for count in bound.values())
    return n_tokens("\n".join(merge_imports(statements))) + ALIAS_TOKENS * n_aliases


def imported_modules(statements: Iterable[str]) -> frozenset[str]:
    """Return the modules from which import statements import. The assignment of a constant stands for itself."""
    return frozenset(
        statement if is_constant(statement) else _split_import(statement)[0] or statement for statement in statements
    )


@cache
def _split_import(statement: str) -> tuple[str, str]:
    """Return the module and the name, with its alias, of an import of one name. `import name` has an empty module."""
    (node,) = _parse_imports(statement)
    module = str(node.module) if isinstance(node, ast.ImportFrom) else ""
    return module, ast.unparse(node.names[0])


def _parse_imports(statement: str) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.parse(statement).body if isinstance(node, IMPORTS)]
