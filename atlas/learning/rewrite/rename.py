"""New names for a function and its parameters, which change nothing else about it."""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import tokenize
from collections.abc import Iterable, Mapping
from itertools import pairwise

from atlas.core.errors import InvalidInput
from atlas.learning.terms.parsing import parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef

RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins))
"""What nothing may be named: words of the language, and what everybody takes for the builtin."""

_BY_TEXT = frozenset({"eval", "exec", "locals", "vars", "globals", "dir"})


def is_free(name: str) -> bool:
    """Whether something may be named so as far as Python is concerned."""
    return name.isidentifier() and name.isascii() and name not in RESERVED and not name.startswith("__")


def function_of(code: str, name: str = "") -> Function:
    """The function of this name that the code defines on its top level, or else the last one.

    Raises:
        InvalidInput: The code does not parse, or defines no function.
    """
    tree = parsed(code)
    if tree is None:
        raise InvalidInput(f"expected Python that parses, got {code[:80]!r}")
    functions = [node for node in tree.body if isinstance(node, Function)]
    if not functions:
        raise InvalidInput(f"expected code that defines a function, got {code[:80]!r}")
    return next((function for function in functions if function.name == name), functions[-1])


def parameters_of(function: Function) -> list[str]:
    """The names of a function's parameters, in order; starred ones last."""
    given = function.args
    starred = [arg for arg in (given.vararg, given.kwarg) if arg is not None]
    return [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, *starred)]


def identifiers(tree: ast.AST) -> set[str]:
    """Every name that code binds, reads or passes, attributes aside."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            found.add(node.arg)
        else:
            found |= _bound(node)
    return found


def bound_names(tree: ast.AST) -> set[str]:
    """Every name to which code gives a meaning somewhere, be it in a function: imports and parameters as well."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif not isinstance(node, ast.Global | ast.Nonlocal):
            found |= _bound(node)
    return found


def renamed(code: str, names: Mapping[str, str]) -> str:
    """The code with other names for functions, parameters and variables; what it does is the same.

    Raises:
        InvalidInput: It does not parse; a new name is reserved or taken in it; or an old one is also bound in a way
            that has to keep it, such as an import or an argument passed by name.
    """
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return code
    tree = parsed(code)
    if tree is None:
        raise InvalidInput(f"expected Python that parses, got {code[:80]!r}")
    _check(tree, changed)
    before = ast.dump(tree)
    again = Renaming(changed).visit(tree)
    plain = ast.unparse(again)
    back = parsed(plain)
    if back is None or ast.dump(Renaming({new: old for old, new in changed.items()}).visit(back)) != before:
        raise InvalidInput(f"the code cannot be renamed by {changed!r} and stay the same; leave it as it is")
    retold = _retold(code, changed)
    read = parsed(retold)
    return retold if read is not None and ast.dump(read) == ast.dump(again) else plain


def _retold(code: str, changed: Mapping[str, str]) -> str:
    """The code with other words for the names, and layout and comments as they were; attributes stay."""
    lines = code.splitlines(keepends=True)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return ""
    named = [
        token
        for before, token in pairwise(tokens)
        if token.type == tokenize.NAME and token.string in changed and before.string != "."
    ]
    for token in reversed([tokens[0], *named] if tokens[0].string in changed else named):
        (row, start), (_, end) = token.start, token.end
        line = lines[row - 1]
        lines[row - 1] = f"{line[:start]}{changed[token.string]}{line[end:]}"
    return "".join(lines)


def _check(tree: ast.AST, changed: Mapping[str, str]) -> None:
    taken = identifiers(tree)
    if len(set(changed.values())) < len(changed):
        raise InvalidInput(f"expected a different name for each, got {sorted(changed.values())}")
    for old, new in changed.items():
        if not is_free(new):
            raise InvalidInput(f"expected an identifier that is no word of Python's, got {new!r}")
        if new in taken:
            raise InvalidInput(f"{new!r} is used in the code for something else; choose another name for {old!r}")
    fixed = _fixed(tree)
    if fixed & set(changed):
        raise InvalidInput(f"the code fixes the name {min(fixed & set(changed))!r}; leave it as it is")
    looking = looks_up_names(tree)
    if looking:
        raise InvalidInput(f"the code may look names up as texts ({min(looking)}); leave them as they are")


def looks_up_names(tree: ast.AST) -> set[str]:
    """The functions with which code may look names up as texts: those of Python's that it calls, or hands on."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return {name for name in called | ({node.id for node in names} - own) if name in _BY_TEXT}


def _fixed(tree: ast.AST) -> set[str]:
    """Names that are bound, or passed, other than by an assignment, a parameter or a definition."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
        elif not isinstance(node, Function):
            found |= _bound(node)
        if isinstance(node, ast.ClassDef):
            found |= identifiers(node)  # a name that its body binds is an attribute as well
    return found


def _bound(node: ast.AST) -> set[str]:
    """The names that a node binds itself, names and parameters aside."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return set(names)
        case ast.alias(name=name, asname=other):
            return {(other or name).partition(".")[0]}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return {name}
        case ast.MatchMapping(rest=str(name)):
            return {name}
    return set()


class Renaming(ast.NodeTransformer):
    """Other names for functions, parameters and variables, wherever they stand."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        """The node, changed."""
        if isinstance(node, ast.Name):
            node.id = self._names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = self._names.get(node.arg, node.arg)
        elif isinstance(node, Function):
            node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)


def unused(name: str, taken: Iterable[str]) -> str:
    """The name itself, or with the first number after it that makes it another than those taken."""
    held = set(taken)
    candidates = (f"{name}_{number}" for number in range(2, len(held) + 3))
    return name if name not in held and is_free(name) else next(one for one in candidates if one not in held)
