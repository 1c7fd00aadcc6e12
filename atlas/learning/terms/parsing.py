"""Safe parsing of untrusted source code."""

from __future__ import annotations

import ast
import warnings

from atlas.core.errors import InvalidInput
from atlas.learning.terms.walking import walk

MAX_CHARACTERS = 100_000
"""Largest length of a program. Parsing a longer program could take seconds."""


MAX_PARTS = 300
"""Largest number of operands, items or arguments of one expression. Searching wider ones could take minutes."""


_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_TABLE_PARTS = (*_DISPLAYS, ast.Constant, ast.UnaryOp, ast.UAdd, ast.USub, ast.Load)


class InvalidPython(InvalidInput):
    """An error for a source that cannot be processed as Python."""


def parse(source: str) -> ast.Module:
    """Return the syntax tree of a source.

    Raises:
        InvalidPython: The source does not parse, is too long, or too deeply nested.
    """
    if len(source) > MAX_CHARACTERS:
        raise InvalidPython(f"expected at most {MAX_CHARACTERS:,} characters of Python, got {len(source):,}")
    try:
        with warnings.catch_warnings(action="ignore"):  # such as invalid escapes in the program
            return ast.parse(source)
    except SyntaxError as error:
        raise InvalidPython(f"expected Python, got {error.msg!r} in line {error.lineno}") from error
    except (RecursionError, MemoryError) as error:
        raise too_deep_error() from error
    except ValueError as error:  # null bytes, or a number of more than 4,300 digits
        raise InvalidPython(f"expected Python, got: {error}") from error


def too_deep_error() -> InvalidPython:
    """Return the error for code that is nested so deeply that walking it uses up the stack."""
    return InvalidPython(
        "expected Python that is nested less deeply; split its longest expressions, such as a sum of hundreds of "
        "terms, and its deepest blocks into several statements"
    )


def try_parse(source: str) -> ast.Module | None:
    """Return the syntax tree of a source, or None if `parse` refuses it."""
    try:
        return parse(source)
    except InvalidPython:
        return None


def is_wide(module: ast.Module) -> bool:
    """Return whether an expression of a program has more than `MAX_PARTS` operands, items or arguments.

    Long tables do not count, because a table is searched as a single constant.
    """
    return any(
        isinstance(value, list) and len(value) > MAX_PARTS
        for node in walk(module)
        if isinstance(node, ast.expr) and not is_long_table(node)
        for value in vars(node).values()
    )


def is_long_table(node: ast.AST) -> bool:
    """Return whether an expression is a literal of more than `MAX_PARTS` constants and nothing else."""
    if not isinstance(node, _DISPLAYS) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    n_constants = 0
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        if not isinstance(part, _TABLE_PARTS):
            return False
        n_constants += isinstance(part, ast.Constant)
        stack += ast.iter_child_nodes(part)
    return n_constants > MAX_PARTS


def can_compile(source: str) -> bool:
    """Return whether Python compiles the source. The parser alone accepts, for example, `return` outside a function."""
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(source, "<program>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
