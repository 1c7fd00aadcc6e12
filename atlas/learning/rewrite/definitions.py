"""Functions and classes of a program that can move to a library, with all definitions that they depend on."""

from __future__ import annotations

import ast
import builtins
import copy
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from atlas.core.errors import InvalidInput
from atlas.learning.analysis.purity import PLAIN_MODULES, PURE_FUNCTIONS
from atlas.learning.rewrite.rename import Renamer
from atlas.learning.search.forms.canonical import canonical_body
from atlas.learning.search.forms.nodes import copy_tree
from atlas.learning.terms.codec import encode
from atlas.learning.terms.names import Function, bound_names, bound_names_of_node
from atlas.learning.terms.scopes import BUILTIN, IMPORTS, LOCAL, OWN, TOOL, is_constant, own_nodes
from atlas.learning.terms.symbols import number_symbols, replace_symbols
from atlas.learning.terms.walking import walk

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

ORDER_INDEPENDENT_MODULES = (PLAIN_MODULES | {"contextlib"}) - {"datetime", "random", "sys", "time"}
"""Modules whose functions give the same result if a definition that calls them is evaluated earlier."""

ORDER_INDEPENDENT_BUILTINS = PURE_FUNCTIONS

SIDE_EFFECT_FREE_MODULES = sys.stdlib_module_names | {"numpy"}
"""Modules whose import before the program begins is known to have no side effects."""

INTROSPECTION_NAMES = frozenset({"__name__", "__qualname__", "__module__", "__doc__", "__dict__", "__all__", "modules"})
"""Attributes and strings through which a program can observe the module or the name of a definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovableDefinition:
    """A top-level function or class that can move to a library.

    It depends only on imports, tools and other movable definitions.
    """

    name: str
    node: Definition
    calls: tuple[str, ...]
    """Names of the movable definitions that the definition uses directly, in the order of first use."""

    imports: tuple[str, ...]
    """Import statements that the definition needs. Each imports one name."""

    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Context:
    """The origins of a program's names, and the definitions that may move."""

    origins: Mapping[int, str]
    candidates: Collection[str]
    """Names that are bound only once, by a top-level definition."""


def find_movable_definitions(
    module: ast.Module, origins: Mapping[int, str], replaced: Collection[str] = frozenset()
) -> dict[str, MovableDefinition]:
    """Return the definitions of a program that can move to a library, keyed by name.

    Code that runs at the definition, such as decorators and defaults, must give the same result when it runs earlier.

    Args:
        module: The program in normal form.
        origins: The origin of each name, as `bindings` returns it.
        replaced: Names that code after the program, such as its tests, may rebind.
    """
    if any(map(_inspects_definitions, walk(module))):
        return {}
    n_bindings = Counter(name for node in own_nodes(module) for name in _bound_names(node))
    declared = {name for node in walk(module) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    nodes = {node.name: node for node in module.body if isinstance(node, Definition)}
    candidates = {
        name for name in nodes if n_bindings[name] == 1 and name not in {*declared, *replaced} and name[:2] != "__"
    }
    context = _Context(origins, candidates)
    movable = {
        name: definition for name in candidates if (definition := _movable_definition(nodes[name], context)) is not None
    }
    while incomplete := [name for name, definition in movable.items() if not movable.keys() >= set(definition.calls)]:
        for name in incomplete:
            del movable[name]
    return {name: movable[name] for name in nodes if name in movable}


def _inspects_definitions(node: ast.AST) -> bool:
    """Return whether a node may observe the module or the name of a definition."""
    match node:
        case ast.Name(id=name):
            return name == "__all__"
        case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name in INTROSPECTION_NAMES
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return True
    return False


def _bound_names(node: ast.AST) -> set[str]:
    """Return the names that a node binds in its scope."""
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    return bound_names_of_node(node)


@dataclass(slots=True)
class _ExternalNames:
    """The external names that a definition uses."""

    calls: dict[str, None] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    """Names of objects that cannot move."""


def _movable_definition(node: Definition, context: _Context) -> MovableDefinition | None:
    """Return a definition as a movable one, or None if it depends on parts of its program that cannot move."""
    own_names = bound_names(ast.Module(body=[node], type_ignores=[])) - {node.name}
    if _rebinds_own_name(node) or any(isinstance(part, ast.Global) for part in walk(node)):
        return None
    external = _external_names(node, own_names, context)
    if (
        external.others
        or own_names.intersection(context.candidates)
        or not all(map(_is_importable_early, external.imports))
    ):
        return None
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    inherited = {id(base) for base in bases if isinstance(base, ast.Name) and base.id in external.calls}
    evaluated = [part for part in code_run_at_definition(node) if id(part) not in inherited]
    if not all(
        _is_order_independent(part, {*external.calls, *external.tools, node.name}, context) for part in evaluated
    ):
        return None
    return MovableDefinition(
        name=node.name,
        node=node,
        calls=tuple(external.calls),
        imports=tuple(sorted(external.imports)),
        tools=tuple(sorted(external.tools)),
    )


def _external_names(node: Definition, own_names: Collection[str], context: _Context) -> _ExternalNames:
    """Return the external names that a definition uses.

    Args:
        own_names: Names that the definition binds itself.
    """
    external = _ExternalNames()
    early_ids = {id(part) for code in code_run_at_definition(node) for part in walk(code)}
    for part in walk(node):
        if not isinstance(part, ast.Name) or part.id in own_names or part.id == node.name:
            continue
        origin = context.origins.get(id(part), OWN)
        if origin == TOOL:
            external.tools.add(part.id)
        elif is_constant(origin) and (isinstance(node, ast.ClassDef) or id(part) in early_ids):
            external.others.add(part.id)
        elif origin not in (LOCAL, OWN, BUILTIN):
            external.imports.add(origin)
        elif origin == OWN and part.id in context.candidates:
            external.calls[part.id] = None
        elif origin != BUILTIN:
            external.others.add(part.id)
    return external


def _is_importable_early(statement: str) -> bool:
    """Return whether a constant or an import may be evaluated before the program begins."""
    return is_constant(statement) or _module_of(statement) in SIDE_EFFECT_FREE_MODULES


def _module_of(statement: str) -> str:
    """Return the top-level package of an import statement."""
    return statement.split()[1].partition(".")[0]


def _rebinds_own_name(node: Definition) -> bool:
    """Return whether the code inside a definition rebinds the definition's name."""
    inner = [part for part in walk(node) if part is not node]
    return any(
        node.name in _bound_names(part) or (isinstance(part, ast.arg) and part.arg == node.name) for part in inner
    )


def code_run_at_definition(node: Definition) -> Iterator[ast.AST]:
    """Yield the code that runs when a definition is evaluated: decorators, defaults, and the body of a class."""
    yield from node.decorator_list
    if not isinstance(node, ast.ClassDef):
        yield from [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
        return
    yield from [*node.bases, *(keyword.value for keyword in node.keywords)]
    for statement in node.body:
        if isinstance(statement, Definition):
            yield from code_run_at_definition(statement)
        else:
            yield statement


def _is_order_independent(code: ast.AST, undefined_names: Collection[str], context: _Context) -> bool:
    """Return whether a decorator, default or class body has the same result at the beginning of the program.

    Args:
        undefined_names: Names that may not be defined yet at the beginning of the program.
    """
    is_decorator = isinstance(code, ast.Name | ast.Attribute)
    if is_decorator and not _is_order_independent_call(code, context):
        return False
    for part in walk(code):
        if isinstance(part, ast.Name) and part.id in undefined_names:
            return False
        if isinstance(part, ast.Call) and not _is_order_independent_call(part.func, context):
            return False
        if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, *IMPORTS)):
            return False
    return True


def _is_order_independent_call(function: ast.AST, context: _Context) -> bool:
    """Return whether a builtin or imported function may be called earlier with the same result."""
    if isinstance(function, ast.Attribute) and function.attr in ("setter", "getter", "deleter"):
        return True
    root = function
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    origin = context.origins.get(id(root), OWN)
    if origin == BUILTIN:
        return hasattr(builtins, root.id) and (root.id in ORDER_INDEPENDENT_BUILTINS or _is_type(root.id))
    return origin not in (LOCAL, OWN, TOOL) and _module_of(origin) in ORDER_INDEPENDENT_MODULES


def _is_type(name: str) -> bool:
    return isinstance(getattr(builtins, name), type)


def dependency_closure(name: str, definitions: Mapping[str, MovableDefinition]) -> list[str]:
    """Return the names of a definition and of all definitions that it depends on, in breadth-first order."""
    reached = {name: None}
    queue = [name]
    while queue:
        for callee in definitions[queue.pop(0)].calls:
            if callee not in reached:
                reached[callee] = None
                queue.append(callee)
    return list(reached)


def equivalence_key(
    name: str, definitions: Mapping[str, MovableDefinition], convert: Callable[[Function], Function] = lambda node: node
) -> str:
    """Return a string that is equal for definitions that differ only in names of functions and local variables.

    Args:
        convert: Converts each function before the comparison.
    """
    names = dependency_closure(name, definitions)
    placeholders = {
        dependency: f"unit_{number}"
        for number, dependency in enumerate(names)
        if isinstance(definitions[dependency].node, Function)
    }
    parts = [_node_shape(definitions[dependency].node, placeholders, convert) for dependency in names]
    imports = sorted({statement for dependency in names for statement in definitions[dependency].imports})
    return "\n".join([*parts, *imports])


def canonical_function(function: Function) -> Function:
    """Return a function in canonical form. Equal forms usually mean equal behaviour, which tests must confirm."""
    canonical = copy.copy(function)
    canonical.body = canonical_body(function) or function.body
    module = ast.Module(body=[canonical], type_ignores=[])
    reparsed = ast.parse(ast.unparse(ast.fix_missing_locations(module))).body[0]
    assert isinstance(reparsed, Function)
    return reparsed


def _node_shape(node: Definition, names: Mapping[str, str], convert: Callable[[Function], Function]) -> str:
    """Return a definition as a string, with local variables numbered. Variables in a class keep their names."""
    copied_node = copy_tree(node)
    Renamer(names).visit(copied_node)
    if isinstance(copied_node, ast.ClassDef):
        return ast.dump(copied_node)
    module = ast.Module(body=[convert(copied_node)], type_ignores=[])
    try:
        term = encode(module)
    except (InvalidInput, RecursionError):
        return ast.dump(module)
    return str(replace_symbols(term, number_symbols(term)))


def parameters_in(name: str, definitions: Mapping[str, MovableDefinition]) -> tuple[str, ...]:
    """Return the parameter names of a definition and of all definitions that it depends on."""
    names = list[str]()
    for dependency in dependency_closure(name, definitions):
        functions = [part for part in walk(definitions[dependency].node) if isinstance(part, Function)]
        for function in functions:
            names += [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    return tuple(names)


def find_keywords(*trees: ast.AST) -> set[str]:
    """Return the names that code passes as keyword arguments, or may pass, as in `f(**{"key": 1})`."""
    parts = [part for tree in trees for part in walk(tree)]
    passed = {part.arg for part in parts if isinstance(part, ast.keyword) and part.arg}
    if any(isinstance(part, ast.keyword) and part.arg is None for part in parts):
        passed |= {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
        passed |= {part.arg for part in parts if isinstance(part, ast.arg)}
    return passed
