"""New names for a function and its parameters, which change nothing else about it."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Mapping
from itertools import pairwise

from atlas.core.errors import InvalidInput
from atlas.learning.terms.names import Function, bound_by, identifiers, is_free, looks_up_names
from atlas.learning.terms.parsing import parsed


def renamed(code: str, names: Mapping[str, str]) -> str:
    """Return the code with other names for functions, parameters and variables. It does the same.

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
    """Return the code with other words for the names. Layout, comments and attributes stay."""
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


def _fixed(tree: ast.AST) -> set[str]:
    """Return the names that are bound, or passed, other than by an assignment, a parameter or a definition."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
        elif not isinstance(node, Function):
            found |= bound_by(node)
        if isinstance(node, ast.ClassDef):
            found |= identifiers(node)  # a name that its body binds is an attribute as well
    return found


class Renaming(ast.NodeTransformer):
    """New names for functions, parameters and variables, wherever they stand."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the node, changed."""
        if isinstance(node, ast.Name):
            node.id = self._names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = self._names.get(node.arg, node.arg)
        elif isinstance(node, Function):
            node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)
