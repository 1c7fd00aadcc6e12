"""Renaming of a function and its parameters, without any other change."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Mapping
from itertools import pairwise

from atlas.core.errors import InvalidInput
from atlas.learning.terms.names import Function, bound_names_of_node, find_name_lookups, identifiers, is_available
from atlas.learning.terms.parsing import too_deep_error, try_parse
from atlas.learning.terms.walking import walk


def rename_identifiers(code: str, names: Mapping[str, str]) -> str:
    """Return the code with functions, parameters and variables renamed.

    Raises:
        InvalidInput: The code does not parse or is nested too deeply, a new name is reserved or in use, or an old name
        is also bound by an import or passed as a keyword.
    """
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return code
    try:
        return _rename_parsed(code, changed)
    except RecursionError as error:
        raise too_deep_error() from error


def _rename_parsed(code: str, names: Mapping[str, str]) -> str:
    """Return the code with names replaced, in its own layout if that reads as the same program."""
    tree = try_parse(code)
    if tree is None:
        raise InvalidInput(f"expected Python that parses, got {code[:80]!r}")
    _check_new_names(tree, names)
    original_dump = ast.dump(tree)
    new_tree = Renamer(names).visit(tree)
    unparsed = ast.unparse(new_tree)
    restored = try_parse(unparsed)
    if restored is None or ast.dump(Renamer({new: old for old, new in names.items()}).visit(restored)) != original_dump:
        raise InvalidInput(f"renaming {names!r} would change the behaviour of the code; keep these names")
    edited = _edit_text(code, names)
    reparsed = try_parse(edited)
    if reparsed is not None and ast.dump(reparsed) == ast.dump(new_tree):
        return edited
    return unparsed


def _edit_text(code: str, names: Mapping[str, str]) -> str:
    """Return the source text with the names replaced. Layout, comments and attributes stay."""
    lines = code.splitlines(keepends=True)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return ""
    occurrences = [
        token
        for previous, token in pairwise(tokens)
        if token.type == tokenize.NAME and token.string in names and previous.string != "."
    ]
    for token in reversed([tokens[0], *occurrences] if tokens[0].string in names else occurrences):
        (row, start), (_, end) = token.start, token.end
        line = lines[row - 1]
        lines[row - 1] = f"{line[:start]}{names[token.string]}{line[end:]}"
    return "".join(lines)


def _check_new_names(tree: ast.AST, names: Mapping[str, str]) -> None:
    """Raise InvalidInput if a name cannot be given, or an old name cannot be changed."""
    names_in_code = identifiers(tree)
    if len(set(names.values())) < len(names):
        raise InvalidInput(f"expected different new names, got {sorted(names.values())}")
    for old, new in names.items():
        if not is_available(new):
            raise InvalidInput(f"expected an ASCII identifier that is not a keyword or builtin, got {new!r}")
        if new in names_in_code:
            raise InvalidInput(f"{new!r} is used in the code for something else; choose another name for {old!r}")
    unrenamable = _unrenamable_names(tree)
    if unrenamable & set(names):
        raise InvalidInput(f"the code depends on the name {min(unrenamable & set(names))!r}; keep this name")
    lookups = find_name_lookups(tree)
    if lookups:
        raise InvalidInput(f"the code may look up names by string ({min(lookups)}); keep all names")


def _unrenamable_names(tree: ast.AST) -> set[str]:
    """Return the names that cannot be renamed: imports, keyword arguments and attributes of classes."""
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.keyword) and node.arg:
            names.add(node.arg)
        elif not isinstance(node, Function):
            names |= bound_names_of_node(node)
        if isinstance(node, ast.ClassDef):
            names |= identifiers(node)  # names bound in a class body are also attributes
    return names


class Renamer(ast.NodeTransformer):
    """A transformer that renames functions, parameters and variables in a syntax tree."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the node with its names replaced."""
        if isinstance(node, ast.Name):
            node.id = self._names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = self._names.get(node.arg, node.arg)
        elif isinstance(node, Function):
            node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)
