"""Programs in normalised form, without comments, docstrings, annotations, and `else` after a branch that exits."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from atlas.learning.terms.parsing import InvalidPython, parse, too_deep_error

_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)

_EXIT_STATEMENTS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def normalise(source: str) -> ast.Module:
    """Return the program as `strip` does, without `else` after a branch that always leaves its block.

    Raises:
        InvalidPython: The source does not parse, is too long or too deeply nested, or does not survive `ast.unparse`.
    """
    module = strip(source)
    try:
        _ElseRemover().visit(module)
    except RecursionError as error:
        raise too_deep_error() from error
    check_round_trip(module)
    return module


def check_round_trip(module: ast.Module) -> None:
    """Check that a program does not change when it is unparsed and parsed again.

    Raises:
        InvalidPython: The program changes, or `ast.unparse` fails.
    """
    try:
        survives = ast.dump(parse(ast.unparse(module))) == ast.dump(module)
    except (ValueError, RecursionError) as error:  # for example an f-string with a backslash inside its braces
        raise InvalidPython(f"the code does not survive `ast.unparse`: {error}; leave this program out") from error
    if not survives:
        raise InvalidPython("the code does not survive `ast.unparse`; leave this program out")


def strip(source: str) -> ast.Module:
    """Return the program without docstrings, annotations, comments and `from __future__` imports.

    Raises:
        InvalidPython: The source does not parse, is too long or too deeply nested.
    """
    try:
        module = ast.fix_missing_locations(_Stripper().visit_Module(parse(source)))
    except RecursionError as error:
        raise too_deep_error() from error
    module.type_ignores = []
    return module


def always_exits(block: Sequence[ast.stmt]) -> bool:
    """Return whether a block always returns, raises, breaks or continues, so that the code after it never runs."""
    match block:
        case [*_, ast.If(body=body, orelse=other)]:
            return always_exits(body) and always_exits(other)
        case [*_, last]:
            return isinstance(last, _EXIT_STATEMENTS)
    return False


def find_checks(module: ast.Module) -> list[ast.stmt]:
    """Return the top-level assertions and prints of a program, outside of functions and classes.

    Agents try out their functions with such statements, which are not part of the solution. The list is empty for a
    script, which defines no function or class, because the output of a script is its result.
    """
    statements = list(_iterate_top_level(module.body))
    if not any(map(_defines_function_or_class, statements)):
        return []
    return [statement for statement in statements if _is_check(statement)]


def _defines_function_or_class(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Assign(value=ast.Lambda()):
            return True
    return False


def _iterate_top_level(block: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in block:
        yield statement
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for name in ("body", "orelse", "finalbody"):
                yield from _iterate_top_level(getattr(statement, name, ()))


def _is_check(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assert() | ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return True
    return False


class _Stripper(ast.NodeTransformer):
    """A transformer that removes docstrings and annotations, except annotations of fields, which dataclasses need."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self.generic_visit(node)
        node.body = _strip_docstring(node.body, keep_statement=False)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._strip_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return self._strip_function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        statements = [part if isinstance(part, ast.AnnAssign) else self.visit(part) for part in node.body]
        node.body = _strip_docstring(statements)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """Replace a declaration by an assignment. Keep one without a value, which makes the name a local variable."""
        self.generic_visit(node)
        return node if node.value is None else ast.Assign(targets=[node.target], value=node.value)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = node.type_comment = None
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        return None if node.module == "__future__" else node

    def _strip_function(self, node: _Function) -> _Function:
        self.generic_visit(node)
        node.returns = None
        node.body = _strip_docstring(node.body)
        return node


class _ElseRemover(ast.NodeTransformer):
    """A transformer that moves the code of an `else` after the `if`, if the other branch always leaves the block."""

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        self.generic_visit(node)
        following: list[ast.stmt] = []
        if always_exits(node.body):
            following, node.orelse = node.orelse, []
        return [node, *following]


def _strip_docstring(body: list[ast.stmt], *, keep_statement: bool = True) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest or ([ast.Pass()] if keep_statement else [])
    return body
