"""Concepts made from functions: code that runs without this package, signature, examples and calls.

The code of a primitive is the source of its function, after the parts of its package that it needs: imports, type
aliases, constants and private functions. Primitives that it calls are not part of its code: their ids are the concept's
`calls`. To run a concept, execute its code and the code of all concepts that it calls, transitively, in one namespace,
in any order.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import symtable
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.util import resolve_name
from types import MappingProxyType, ModuleType
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept

_ModuleName = tuple[ModuleType, str]
"""A module and a name that it defines."""

NO_METADATA: Mapping[str, Any] = MappingProxyType({})

_SECTION = re.compile(r"^(Args|Raises|Returns|Examples|Source):$", re.MULTILINE)


def concepts_of(
    domain: str, modules: Sequence[ModuleType], metadata: Mapping[str, Any] = NO_METADATA
) -> dict[str, CodeConcept]:
    """Return a concept for every public function of the modules, keyed by name. The ids are `<domain>_<name>`.

    Args:
        modules: Modules of one package. They import from the package without aliases.
        metadata: Metadata of each concept.

    Raises:
        InvalidInput: A function uses a part of its package that cannot be copied into the concept's code, or two
            functions have the same name.
    """
    ids = {(module, name): f"{domain}_{name}" for module in modules for name in _public_functions(module)}
    concepts = {name: _make_concept(module, name, ids, metadata) for module, name in ids}
    if len(concepts) < len(ids):
        names = Counter(name for _, name in ids)
        raise InvalidInput(
            f"two modules of {domain!r} define the function {names.most_common(1)[0][0]!r}; rename one of them"
        )
    return concepts


def _public_functions(module: ModuleType) -> list[str]:
    statements = _statements_by_name(module).items()
    return [name for name, node in statements if isinstance(node, ast.FunctionDef) and not name.startswith("_")]


def _make_concept(
    module: ModuleType, name: str, ids: Mapping[_ModuleName, str], metadata: Mapping[str, Any]
) -> CodeConcept:
    """Return the concept of a function: its code, and what its docstring says."""
    node = _statements_by_name(module)[name]
    assert isinstance(node, ast.FunctionDef)
    docstring = inspect.cleandoc(ast.get_docstring(node) or "")
    parts = _CodeParts(ids)
    parts.add(module, name)
    return CodeConcept(
        id=ids[module, name],
        name=name,
        description=" ".join(_SECTION.split(docstring, maxsplit=1)[0].split()),
        code=parts.code(),
        signature=f"{name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns) if node.returns else None}",
        examples=tuple(
            (example.source.strip(), example.want.strip())
            for example in doctest.DocTestParser().get_examples(docstring)
        ),
        source="primitive",
        calls=tuple(sorted(parts.calls - {ids[module, name]})),
        metadata=dict(metadata),
    )


@dataclass
class _CodeParts:
    """The imports and definitions that make up the code of a primitive, dependencies first."""

    ids: Mapping[_ModuleName, str]
    """Ids of the primitives."""

    imports: dict[str, None] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)
    """Definitions, including those whose dependencies are still being added, because functions may be recursive."""

    calls: set[str] = field(default_factory=set)

    def add(self, module: ModuleType, name: str) -> None:
        """Add the definition of a name in a module, after its dependencies."""
        source = _definition_source(module, name)
        if self.started.get(name, source) != source:
            raise InvalidInput(
                f"the modules of a primitive have two different definitions of {name!r}; rename one of them"
            )
        if name not in self.started:
            self.started[name] = source
            for dependency in sorted(_free_names(source) & _statements_by_name(module).keys() - {name}):
                self._add_dependency(module, dependency)
            self.definitions[name] = source

    def _add_dependency(self, module: ModuleType, name: str) -> None:
        node = _statements_by_name(module)[name]
        if (module, name) in self.ids:
            self.calls.add(self.ids[module, name])
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            self.add(module, name)
        else:
            self._add_import(module, node, name)

    def _add_import(self, module: ModuleType, node: ast.Import | ast.ImportFrom, name: str) -> None:
        """Add an import statement. An import from the module's own package adds the imported definition instead."""
        alias = next(alias for alias in node.names if (alias.asname or alias.name) == name)
        if isinstance(node, ast.Import):
            origin, statement = alias.name, ast.unparse(ast.Import([alias]))
        else:
            origin = resolve_name("." * node.level + (node.module or ""), module.__package__)
            statement = ast.unparse(ast.ImportFrom(origin, [alias], 0))
        if origin.partition(".")[0] != module.__name__.partition(".")[0]:
            self.imports[statement] = None
        elif (
            isinstance(node, ast.ImportFrom) and not alias.asname and name in _statements_by_name(import_module(origin))
        ):
            self._add_dependency(import_module(origin), name)
        else:
            raise InvalidInput(
                f"{module.__name__} has {statement!r}, which cannot be copied into the code of a primitive; import "
                "functions of its own package by name, without an alias"
            )

    def code(self) -> str:
        """Return the imports and definitions as one text."""
        imports = "\n".join(sorted(self.imports))
        return "\n\n\n".join(filter(None, [imports, *self.definitions.values()])) + "\n"


def _free_names(source: str) -> set[str]:
    """Return the names that a definition uses but does not define, also in annotations and defaults."""
    return set(_referenced_names(symtable.symtable(source, "<primitive>", "exec"), is_top=True))


def _referenced_names(table: symtable.SymbolTable, *, is_top: bool) -> Iterator[str]:
    """Yield the names that a scope reads from outside. At the top, that is every name that it reads."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (is_top or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _referenced_names(child, is_top=False)


@cache
def _module_source(module: ModuleType) -> str:
    loader = module.__spec__.loader if module.__spec__ else None
    text = loader.get_source(module.__name__) if isinstance(loader, InspectLoader) else None
    if text is None:
        raise InvalidInput(f"the source of {module.__name__} is not installed, so its functions cannot become concepts")
    return text


@cache
def _module_tree(module: ModuleType) -> ast.Module:
    return ast.parse(_module_source(module))


@cache
def _statements_by_name(module: ModuleType) -> dict[str, ast.stmt]:
    """Return the statements that bind the names of a module, keyed by name."""
    statements: dict[str, ast.stmt] = {}
    for node in _module_tree(module).body:
        statements.update(dict.fromkeys(_bound_names(node), node))
    return statements


def _bound_names(node: ast.stmt) -> list[str]:
    """Return the names that a top-level statement binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _definition_source(module: ModuleType, name: str) -> str:
    """Return the source of a definition, with the docstring after an alias or a constant."""
    node, body = _statements_by_name(module)[name], _module_tree(module).body
    next_statement = body[body.index(node) + 1 : body.index(node) + 2]
    is_documented = (
        next_statement and isinstance(next_statement[0], ast.Expr) and isinstance(next_statement[0].value, ast.Constant)
    )
    first_line = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    last_line = (next_statement[0] if is_documented else node).end_lineno
    return "\n".join(_module_source(module).splitlines()[first_line - 1 : last_line])
