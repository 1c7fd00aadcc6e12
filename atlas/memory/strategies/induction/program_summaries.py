"""The gist of a Python program, in a few lines, as far as it can be told without a language model."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize

from atlas.learning.terms.parsing import parsed

MAX_CHARACTERS = 20_000
"""Of a program. A longer one is not read."""

QUOTED_CHARACTERS = 600
"""Of a program that is quoted. A longer one is told by its comments and the functions it calls."""

MAX_COMMENTS = 6
MAX_NAMES = 8
MIN_COMMENT_WORDS = 3

_USUAL = frozenset(
    """
    abs add append bool dict enumerate extend float format get int isinstance items join keys len list lower max min
    pop print range set split str strip sum tuple upper values zip
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)
"""Names that nearly every program calls, so that they tell nothing of one."""

_DOING = (ast.Assign, ast.AugAssign, ast.For, ast.Import, ast.ImportFrom, ast.Return, ast.While, ast.With)
"""Statements of a program that a line of words has not, even one that happens to be Python."""


def is_program(code: str) -> bool:
    """Return whether a text is a Python program, or the body of a function."""
    return _parsed(code) is not None


def program_gist(code: str) -> str:
    """Return a program itself where it is short, else its own comments and what it calls, or empty where it is none."""
    tree = _parsed(code)
    if tree is None:
        return ""
    called = _calls(tree)
    try:
        short = ast.unparse(_without_docstrings(tree))
    except RecursionError:
        return ""
    if len(short) <= QUOTED_CHARACTERS:
        return textwrap.dedent(short.removeprefix("def program():\n"))
    uses = [f"It uses {', '.join(f'`{name}`' for name in called[:MAX_NAMES])}."] if called else []
    return "\n".join([*_comments(code), *uses]) or f"{short[:QUOTED_CHARACTERS].rpartition(chr(10))[0]}\n…"


def _parsed(code: str) -> ast.Module | None:
    """Return a program, or the body of a function as that of `program`, or None where it is neither."""
    if len(code) > MAX_CHARACTERS:
        return None
    for text in (code, f"def program():\n{textwrap.indent(textwrap.dedent(code), '    ')}"):
        tree = parsed(text)
        if tree is not None:
            return tree if any(isinstance(node, _DOING) for node in ast.walk(tree)) else None
    return None


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and len(node.body) > 1:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del node.body[0]
    return tree


def _comments(code: str) -> list[str]:
    """Return what a program's comments say, the first ones, each once."""
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(textwrap.dedent(code)).readline)]
    except (tokenize.TokenError, SyntaxError):
        return []
    said = [token.string.lstrip("# ").strip() for token in tokens if token.type == tokenize.COMMENT]
    return [*dict.fromkeys(comment for comment in said if len(comment.split()) >= MIN_COMMENT_WORDS)][:MAX_COMMENTS]


def _calls(tree: ast.Module) -> list[str]:
    """Return the functions that a program calls, in order, each once, without the usual ones and without its own."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {alias.asname or alias.name for node in imports for alias in node.names}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls.sort(key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
    names = dict.fromkeys(_called(node, modules) for node in calls)
    return [name for name in names if name and name.lstrip(".") not in _USUAL and name not in own]


def _called(node: ast.Call, modules: set[str]) -> str:
    """Return the function's name. That of a method without what it is called on, unless that is a module."""
    target = node.func
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        owner = target.value.id if isinstance(target.value, ast.Name) and target.value.id in modules else ""
        return f"{owner}.{target.attr}"
    return ""
