"""The origin of every name in a program: local, builtin, imported, a tool, or another definition of the program."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from atlas.learning.terms.walking import walk

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)

LOCAL, BUILTIN, OWN, TOOL = "local", "builtin", "own", "tool"
"""Origins of a name: a function's variable, a builtin, another definition of the program, or a tool.

A tool is a name that the program does not bind, so that the environment has to provide it.

The origin of an imported name is the source of its import statement, if that always runs before the name is used.
Otherwise it is `OWN`. The origin of a constant of the module is its assignment, such as `RATE = 0.2`."""


@dataclass(slots=True)
class _Scope:
    node: ast.AST
    bound: dict[str, str] = field(default_factory=dict)
    """Origin of each name that the scope binds."""

    nonlocals: set[str] = field(default_factory=set)


def bindings(module: ast.Module, tools: Container[str] = ()) -> dict[int, str]:
    """Return the origin of each name, keyed by the `id` of its node: a Name, an argument or an `except … as`.

    Args:
        tools: Names that are tools if the program does not bind them. Other unbound names are `OWN`.
    """
    origins: dict[int, str] = {}
    _resolve(module, [_module_scope(module)], origins)
    constants = find_constants(module)
    for node in walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            origin = origins.get(id(node))
            if origin == TOOL and node.id not in tools:
                origins[id(node)] = OWN
            elif origin == OWN:
                origins[id(node)] = constants.get(node.id, OWN)
    return origins


def find_constants(module: ast.Module) -> dict[str, str]:
    """Return the assignments of a module's constants, such as `RATE = 0.2`, keyed by name.

    A constant is an immutable literal that is assigned before all other code than imports, and whose name has no other
    binding in the program.
    """
    assignments: dict[str, str] = {}
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_immutable(value) and not is_builtin(name):
                assignments[name] = ast.unparse(statement)
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                assignments.clear()  # it may bind the same names
            case ast.Import() | ast.ImportFrom():
                continue
            case _:
                break
    if not assignments:
        return {}
    n_bound = Counter(name for node in walk(module) for name in _bound_names(node))
    return {name: statement for name, statement in assignments.items() if n_bound[name] == 1}


def is_constant(origin: str) -> bool:
    """Return whether an origin is the assignment of a constant."""
    return origin.partition(" ")[2].startswith("= ")


def _is_immutable(value: ast.expr) -> bool:
    match value:
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Tuple(elts=elements):
            return all(map(_is_immutable, elements))
    return False


def _bound_names(node: ast.AST) -> list[str]:
    """Return the names that a node binds in any scope.

    A name that the node declares as `global` or `nonlocal` appears twice, so that it never counts as bound once.
    """
    if isinstance(node, ast.Global | ast.Nonlocal):
        return [name for name in node.names for _ in range(2)]
    scope = _Scope(node)
    _bind(node, scope)
    return list(scope.bound)


def _module_scope(module: ast.Module) -> _Scope:
    """Return the module's scope, whose variables count as local unless a function or class can read them."""
    scope = _find_scope(module, list(own_nodes(module)))
    variables = {name for name, binding in scope.bound.items() if binding == LOCAL}
    visible = _names_in_definitions(module) if variables else set()
    for name in variables:
        if name in visible or name.startswith("__"):
            scope.bound[name] = OWN
    declared = {name for node in walk(module) if isinstance(node, ast.Global) for name in node.names}
    scope.bound |= dict.fromkeys(declared, OWN)
    return scope


def _names_in_definitions(module: ast.Module) -> set[str]:
    """Return the names in all functions and classes of a module."""
    definitions = [node for node in walk(module) if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
    return {part.id for node in definitions for part in walk(node) if isinstance(part, ast.Name)}


def _find_scope(node: ast.AST, nodes: Sequence[ast.AST]) -> _Scope:
    """Return the scope of a node.

    Args:
        nodes: The nodes that the scope evaluates itself, as `own_nodes` yields them.
    """
    scope = _Scope(node)
    for own_node in nodes:
        _bind(own_node, scope)
    imports = {name for own_node in nodes if isinstance(own_node, IMPORTS) for name in imported_names(own_node)}
    scope.bound |= dict.fromkeys(_unreliable_imports(node, imports, scope.bound), OWN)
    for name in scope.nonlocals:
        scope.bound.pop(name, None)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for name in _rebound_by_inner_scopes(node) & scope.bound.keys():
            scope.bound[name] = OWN
    return scope


def _unreliable_imports(scope: ast.AST, imports: set[str], bound: Mapping[str, str]) -> set[str]:
    """Return the imported names of a scope that code may use before the import has run, or after another binding."""
    if not imports or "*" in bound:
        return imports  # the other names of a star import are unknown
    mentioned: set[str] = set()
    reliable: set[str] = set()
    for statement in getattr(scope, "body", []):
        if isinstance(statement, IMPORTS):
            reliable |= set(imported_names(statement)) - mentioned
        mentioned |= {node.id for node in walk(statement) if isinstance(node, ast.Name)}
    return imports - reliable


def _rebound_by_inner_scopes(function: ast.AST) -> set[str]:
    """Return the names that functions inside a function declare as `nonlocal`."""
    return {name for node in walk(function) if isinstance(node, ast.Nonlocal) for name in node.names}


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that a scope evaluates itself, including the parts of inner scopes that it evaluates."""
    stack = list(_inner_parts(scope))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(_outer_parts(node) if isinstance(node, SCOPES) else ast.iter_child_nodes(node))
        if isinstance(node, COMPREHENSIONS):  # `:=` binds in the function around a comprehension
            stack.extend(walrus.target for walrus in walk(node) if isinstance(walrus, ast.NamedExpr))


def _inner_parts(scope: ast.AST) -> list[ast.AST]:
    """Return the parts of a scope that are evaluated inside it."""
    match scope:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [*_parameters(scope), *scope.body]
        case ast.Lambda():
            return [*_parameters(scope), scope.body]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            outermost, *nested = scope.generators
            elements = [scope.key, scope.value] if isinstance(scope, ast.DictComp) else [scope.elt]
            return [outermost.target, *outermost.ifs, *nested, *elements]
    return list(ast.iter_child_nodes(scope))


def _outer_parts(scope: ast.AST) -> list[ast.AST]:
    """Return the parts of a scope that are evaluated in the enclosing scope."""
    inner_ids = {id(node) for node in _inner_parts(scope)}
    if isinstance(scope, COMPREHENSIONS):
        return [scope.generators[0].iter]
    parts = [node for node in ast.iter_child_nodes(scope) if id(node) not in inner_ids]
    return [
        part
        for node in parts
        for part in (_defaults_and_annotations(node) if isinstance(node, ast.arguments) else [node])
    ]


def _parameters(scope: ast.AST) -> list[ast.AST]:
    arguments = getattr(scope, "args", None)
    return [node for node in ast.iter_child_nodes(arguments) if isinstance(node, ast.arg)] if arguments else []


def _defaults_and_annotations(arguments: ast.arguments) -> list[ast.AST]:
    annotations = [node.annotation for node in walk(arguments) if isinstance(node, ast.arg) and node.annotation]
    return [*arguments.defaults, *(node for node in arguments.kw_defaults if node), *annotations]


def _bind(node: ast.AST, scope: _Scope) -> None:
    """Add the names that a node binds to a scope, each with its origin."""
    is_class = isinstance(scope.node, ast.ClassDef)
    match node:
        case ast.Name(ctx=ast.Store() | ast.Del()) as name:
            _add_binding(scope, name.id, OWN if is_class else LOCAL)
        case ast.arg():
            _add_binding(scope, node.arg, LOCAL)
        case ast.ExceptHandler(name=str(name)):
            _add_binding(scope, name, OWN if is_class else LOCAL)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            scope.bound[node.name] = OWN
        case ast.Import() | ast.ImportFrom():
            _bind_import(node, scope)
        case ast.Global() | ast.Nonlocal():
            scope.nonlocals.update(node.names)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            scope.bound[name] = OWN
        case _:
            pass


def _add_binding(scope: _Scope, name: str, binding: str) -> None:
    """Add a binding. A name that is bound in two ways becomes `OWN`."""
    scope.bound[name] = binding if scope.bound.get(name, binding) == binding else OWN


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the name that each alias binds."""
    return [alias.asname or alias.name.partition(".")[0] for alias in node.names]


def _bind_import(node: ast.Import | ast.ImportFrom, scope: _Scope) -> None:
    """Add the names that an import binds to a scope. Their origin is an import of the name alone."""
    for alias, name in zip(node.names, imported_names(node), strict=True):
        if isinstance(node, ast.Import):
            _add_binding(scope, name, ast.unparse(ast.Import(names=[alias])))
        elif node.level:
            _add_binding(scope, name, OWN)
        else:
            _add_binding(scope, name, ast.unparse(ast.ImportFrom(module=node.module, names=[alias], level=0)))


def _resolve(node: ast.AST, scopes: list[_Scope], origins: dict[int, str]) -> None:
    """Record the origin of each name in a scope, and in the scopes inside it."""
    if not isinstance(node, (*SCOPES, ast.Module)):
        return
    nodes = list(own_nodes(node))
    inner = [*scopes, _find_scope(node, nodes)] if isinstance(node, SCOPES) else scopes
    for part in nodes:
        name = _name_in(part)
        if name is not None:
            origins[id(part)] = _origin_of_name(name, inner)
        if isinstance(part, SCOPES):
            _resolve(part, inner, origins)


def _name_in(node: ast.AST) -> str | None:
    match node:
        case ast.Name():
            return node.id
        case ast.arg():
            return node.arg
        case ast.ExceptHandler():
            return node.name
    return None


def _origin_of_name(name: str, scopes: list[_Scope]) -> str:
    """Return the origin of a name. The names of a class are visible only directly in its body."""
    *enclosing, innermost = scopes
    for scope in [innermost, *reversed(enclosing)]:
        if scope is not innermost and isinstance(scope.node, ast.ClassDef):
            continue
        if name in scope.bound:
            return scope.bound[name]
        if name in scope.nonlocals and isinstance(scope.node, FUNCTIONS):
            return OWN
    if name.startswith("__") or "*" in scopes[0].bound:
        return OWN
    return BUILTIN if is_builtin(name) else TOOL


def is_builtin(name: str) -> bool:
    """Return whether an unbound name is a builtin. A name such as `__name__` belongs to the module or class."""
    return hasattr(builtins, name) and not name.startswith("__")
