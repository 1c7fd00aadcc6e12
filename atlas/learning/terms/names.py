"""Names that code binds, reads or leaves free."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Iterable

from atlas.core.errors import InvalidInput
from atlas.learning.terms.parsing import try_parse
from atlas.learning.terms.walking import walk

Function = ast.FunctionDef | ast.AsyncFunctionDef

RESERVED_NAMES = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins))
"""Names that cannot be assigned: keywords and builtins."""

_NAME_LOOKUPS = frozenset({"eval", "exec", "locals", "vars", "globals", "dir"})

# fmt: off
_STACK_NAMES = frozenset({
    "__code__", "__traceback__", "_current_exceptions", "_current_frames", "_getframe", "_getframemodulename",
    "ag_frame", "co_name", "cr_frame", "currentframe", "dump_traceback", "extract_stack", "extract_tb", "f_back",
    "f_code", "f_globals", "f_lineno", "f_locals", "findCaller", "format_exc", "format_exception", "format_stack",
    "format_tb", "getinnerframes", "getouterframes", "getrecursionlimit", "getsource", "getsourcelines", "gettrace",
    "gi_frame", "print_exc", "print_exception", "print_last", "print_stack", "print_tb", "setprofile", "settrace",
    "stack_info", "stacklevel", "tb_frame", "tb_lineno", "tb_next", "walk_stack", "walk_tb",
})
# fmt: on
"""Names that give access to stack frames, or to the source code of functions on the stack."""

_INSPECT_NAMES = frozenset({"stack", "trace", "*"})
"""More such names, in code that imports `inspect`. Other code may use them differently."""


def is_available(name: str) -> bool:
    """Return whether a name is an identifier that is not a keyword or builtin."""
    return name.isidentifier() and name.isascii() and name not in RESERVED_NAMES and not name.startswith("__")


def unused_name(name: str, reserved: Iterable[str]) -> str:
    """Return the name itself if it is available and not reserved, otherwise with the first free number appended."""
    reserved_names = set(reserved)
    if name not in reserved_names and is_available(name):
        return name
    candidates = (f"{name}_{number}" for number in range(2, len(reserved_names) + 3))
    return next(candidate for candidate in candidates if candidate not in reserved_names)


def function_of(code: str, name: str = "") -> Function:
    """Return the top-level function of this name, or else the last top-level function.

    Raises:
        InvalidInput: The code does not parse, or defines no function.
    """
    tree = try_parse(code)
    if tree is None:
        raise InvalidInput(f"expected Python that parses, got {code[:80]!r}")
    functions = [node for node in tree.body if isinstance(node, Function)]
    if not functions:
        raise InvalidInput(f"expected code that defines a function, got {code[:80]!r}")
    return next((function for function in functions if function.name == name), functions[-1])


def defined_name(code: str, preferred: str = "") -> str:
    """Return the name of the function that code defines, or of the class if it defines no function.

    Args:
        preferred: The name to return if code defines several.

    Raises:
        InvalidInput: The code does not parse, or defines no function or class.
    """
    if not defines_class(code):
        return function_of(code, preferred).name
    classes = [node.name for node in ast.parse(code).body if isinstance(node, ast.ClassDef)]
    return preferred if preferred in classes else classes[-1]


def defines_class(code: str) -> bool:
    """Return whether code defines a class and no function at its top level."""
    tree = try_parse(code)
    node_types = {type(node) for node in tree.body} if tree is not None else set()
    return ast.ClassDef in node_types and not node_types & {ast.FunctionDef, ast.AsyncFunctionDef}


def parameters_of(function: Function) -> list[str]:
    """Return the names of a function's parameters, in order, with starred ones last."""
    arguments = function.args
    starred = [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return [arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred)]


def identifiers(tree: ast.AST) -> set[str]:
    """Return every name that code binds, reads or passes as a keyword. Attributes are left out."""
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            names.add(node.arg)
        else:
            names |= bound_names_of_node(node)
    return names


def bound_names(tree: ast.AST) -> set[str]:
    """Return every name that code binds anywhere, imports and parameters included."""
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif not isinstance(node, ast.Global | ast.Nonlocal):
            names |= bound_names_of_node(node)
    return names


def find_name_lookups(tree: ast.AST) -> set[str]:
    """Return the builtins that code uses to look up names by string, such as `eval`."""
    nodes = list(walk(tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    if not any(node.id in _NAME_LOOKUPS for node in names):
        return set()
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return {name for name in called | ({node.id for node in names} - bound) if name in _NAME_LOOKUPS}


def inspects_stack(tree: ast.AST) -> bool:
    """Return whether code may inspect the call stack, which inserted functions would change."""
    nodes = list(walk(tree))
    mentioned = set[str]().union(*map(_mentioned_name, nodes))
    if "inspect" in mentioned and mentioned & _INSPECT_NAMES:
        return True
    return bool(mentioned & _STACK_NAMES) or any(map(_refers_to_lookup_in_builtins, nodes))


def _mentioned_name(node: ast.AST) -> set[str]:
    """Return the name in a node, or an empty set. A string counts as a name, because `getattr` accepts strings."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)) | ast.alias(name=name):
            return {name}
        case ast.keyword(arg=str(name)) | ast.ImportFrom(module=str(name)):
            return {name}
    return set()


def _refers_to_lookup_in_builtins(node: ast.AST) -> bool:
    """Return whether a node refers indirectly to a builtin that looks up names by string, such as `builtins.eval`."""
    match node:
        case ast.ImportFrom(module="builtins", names=names):
            return any(alias.name in _NAME_LOOKUPS for alias in names)
        case ast.Attribute(value=ast.Name(id="builtins" | "__builtins__"), attr=name):
            return name in _NAME_LOOKUPS
    return False


def bound_names_of_node(node: ast.AST) -> set[str]:
    """Return the names that a node binds, other than an `ast.Name` or `ast.arg`."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return set(names)
        case ast.alias(name=name, asname=alias):
            return {(alias or name).partition(".")[0]}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return {name}
        case ast.MatchMapping(rest=str(name)):
            return {name}
    return set()
