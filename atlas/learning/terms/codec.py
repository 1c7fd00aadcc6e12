"""Lossless conversion of Python's syntax trees to terms and back."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Container, Iterator, Mapping
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.learning.terms.heads import (
    BLOCK,
    DEFINITION,
    DEFINITIONS,
    DO,
    END,
    EXCLUDED_HEAD,
    EXPRESSION,
    MODULE,
    REST,
    STATEMENT,
    SYMBOL_SORT,
    TABLE,
    THEN,
    Head,
    Part,
    class_of,
    escape,
    read_head,
    unescape,
)
from atlas.learning.terms.parsing import is_long_table
from atlas.learning.terms.scopes import LOCAL, bindings
from atlas.learning.terms.terms import SYMBOL, Term

DEFINITION_NODES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Global,
    ast.Nonlocal,
)
OPERATORS = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
OTHER_SORTS: Mapping[type[ast.AST], str] = {
    ast.Module: MODULE,
    ast.excepthandler: "handler",
    ast.comprehension: "gen",
    ast.arguments: "args",
    ast.arg: "arg",
    ast.keyword: "kw",
    ast.withitem: "withitem",
    ast.alias: "alias",
    ast.match_case: "case",
    ast.pattern: "pattern",
}
CONTEXTS: Mapping[str, type[ast.expr_context]] = {"lvalue": ast.Store, "dtarget": ast.Del}
_EXCLUDED_STATEMENTS = (f"{EXCLUDED_HEAD}:Assert/", f"{EXCLUDED_HEAD}:Expr/")
NAME_FIELDS = {ast.Name: "id", ast.arg: "arg", ast.ExceptHandler: "name"}
"""Classes with a name that may be a local variable, and the field that contains the name."""


def encode(module: ast.Module, excluded: Collection[ast.stmt] = (), tools: Container[str] = ()) -> Term:
    """Return a program as a term. The name of each local variable is a child term.

    Args:
        excluded: Statements that patterns must not contain. The encoded statements and their parts get a sort that no
            hole has.
        tools: Names of unbound variables that count as tools. Patterns may contain them.

    Raises:
        InvalidInput: The program contains syntax that is not supported.
    """
    numbers = {id(statement): number for number, statement in enumerate(excluded)}
    digest = hashlib.blake2b(ast.dump(module).encode("utf-8", "replace"), digest_size=6).hexdigest() if numbers else ""
    excluded_labels = {key: f"{digest}{number}" for key, number in numbers.items()}
    return _Encoder(bindings(module, tools), excluded_labels).node(module, MODULE)


def n_excluded(term: Term) -> int:
    """Return the number of excluded statements of a program."""
    return sum(part.head.startswith(_EXCLUDED_STATEMENTS) for part in term.walk())


class _Encoder:
    """An encoder of the syntax tree of one program.

    Args:
        origins: Origin of each name, keyed by the `id` of its node.
        excluded_labels: A unique label for each excluded statement, keyed by the statement's `id`.
        expression: Sort of expressions.
    """

    def __init__(
        self, origins: Mapping[int, str], excluded_labels: Mapping[int, str], expression: str = EXPRESSION
    ) -> None:
        self._origins = origins
        self._labels = excluded_labels
        self._expression = expression

    def node(self, node: ast.AST, sort: str) -> Term:
        """Return the term of a syntax node."""
        if sort == EXPRESSION and is_long_table(node):  # one term, because a search of its items would take minutes
            return Term(str(Head(sort=sort, name=TABLE, parts=(_scalar_part(ast.unparse(node)),))))
        parts: list[Part] = []
        children: list[Term] = []
        for name, value in _fields(node):
            part, terms = (
                self._encode_name(node, value)
                if NAME_FIELDS.get(type(node)) == name
                else self._encode_value(node, value)
            )
            parts.append(part)
            children += terms
        if isinstance(node, ast.Name) and not children:
            parts.append(_scalar_part(self._origins[id(node)]))
        return Term(str(Head(sort=sort, name=type(node).__name__, parts=tuple(parts))), children)

    def _encode_name(self, node: ast.AST, name: str | None) -> tuple[Part, list[Term]]:
        """Return a name as a child term if it is a local variable, and as a part of the head otherwise."""
        if name is not None and self._origins[id(node)] == LOCAL:
            return Part(sorts=(SYMBOL_SORT,)), [Term(SYMBOL + escape(name))]
        return _scalar_part(name), []

    def _encode_value(self, parent: ast.AST, value: Any) -> tuple[Part, list[Term]]:
        """Return the value of a field as a part of the head and, for syntax nodes, as child terms."""
        if isinstance(value, list):
            return self._encode_list(parent, value)
        if isinstance(value, OPERATORS):
            return _scalar_part(type(value).__name__), []
        if isinstance(value, ast.AST):
            sort = self._sort(value, parent)
            return Part(sorts=(sort,)), [self.node(value, sort)]
        if value is None and not isinstance(parent, ast.Constant):
            return Part(sorts=(None,)), []
        return _scalar_part(value), []

    def _encode_list(self, parent: ast.AST, values: list[Any]) -> tuple[Part, list[Term]]:
        if values and isinstance(values[0], ast.stmt):
            term = self._encode_block(values)
            return Part(sorts=(read_head(term.head).sort,)), [term]
        if values and isinstance(values[0], (str, *OPERATORS)):
            names = tuple(value if isinstance(value, str) else type(value).__name__ for value in values)
            return Part(scalars=names, is_list=True, is_scalar=True), []
        sorts = tuple(None if value is None else self._sort(value, parent) for value in values)
        terms = [self.node(value, sort) for value, sort in zip(values, sorts, strict=True) if sort is not None]
        return Part(sorts=sorts, is_list=True), terms

    def _encode_block(self, statements: list[ast.stmt]) -> Term:
        """Return the term of a block. A block with definitions or imports is flat, and no abstraction has its sort."""
        terms = [self._encode_statement(statement) for statement in statements]
        if any(isinstance(statement, DEFINITION_NODES) for statement in statements):
            sorts = tuple(read_head(term.head).sort for term in terms)
            return Term(str(Head(sort=DEFINITIONS, name="Do", parts=(Part(sorts=sorts, is_list=True),))), terms)
        rest = Term(END)
        for term in reversed(terms):
            rest = Term(f"{THEN}/{read_head(term.head).sort}/{REST}", (term, rest))
        return Term(f"{DO}/{REST}", (rest,))

    def _encode_statement(self, statement: ast.stmt) -> Term:
        """Return the term of a statement. The head of an excluded statement contains the statement's label."""
        if id(statement) not in self._labels:
            return self.node(statement, _sort(statement, statement))
        term = _Encoder(self._origins, {}, EXCLUDED_HEAD).node(statement, EXCLUDED_HEAD)
        return Term(f"{term.head}/{_scalar_part(self._labels[id(statement)])}", term.children)

    def _sort(self, node: ast.AST, parent: ast.AST) -> str:
        sort = _sort(node, parent)
        return self._expression if sort == EXPRESSION else sort


def _scalar_part(*values: Any) -> Part:
    return Part(scalars=values, is_scalar=True)


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in ast.iter_fields(node) if name != "ctx")


def _sort(node: ast.AST, parent: ast.AST) -> str:
    """Return the sort of a node in its parent."""
    if isinstance(node, ast.stmt):
        return DEFINITION if isinstance(node, DEFINITION_NODES) else STATEMENT
    if isinstance(node, ast.expr):
        return _expression_sort(node, parent)
    for node_class, sort in OTHER_SORTS.items():
        if isinstance(node, node_class):
            return sort
    raise InvalidInput(f"expected Python 3.11 syntax, got {type(node).__name__!r}; leave this program out")


def _expression_sort(node: ast.expr, parent: ast.AST) -> str:
    """Return the sort of an expression, which says where it may be placed."""
    context = getattr(node, "ctx", None)
    for sort, context_class in CONTEXTS.items():
        if isinstance(context, context_class):
            return sort
    match node:
        case ast.Starred():
            return "starred"
        case ast.Slice():
            return "slice"
        case ast.Tuple() if any(isinstance(element, ast.Slice) for element in node.elts):
            return "slice"
    return _sort_by_place(node, parent)


def _sort_by_place(node: ast.expr, parent: ast.AST) -> str:
    """Return the sort of an expression, which differs in f-strings and `case` patterns from other places."""
    match node, parent:
        case ast.FormattedValue(), _:
            return "format"
        case ast.Constant(), ast.JoinedStr():
            return "text"
        case ast.JoinedStr(), ast.FormattedValue() if node is parent.format_spec:
            return "spec"
        case _, ast.pattern():
            return "fixed"
    return EXPRESSION


def decode(term: Term) -> ast.Module:
    """Return the program of a term.

    Raises:
        InvalidInput: The term does not represent a program.
    """
    module = Decoder().node(term)
    if not isinstance(module, ast.Module):
        raise InvalidInput(f"expected the term of a program, got {term.head!r}")
    return ast.fix_missing_locations(module)


class Decoder:
    """Decoder of terms to syntax trees. Subclasses handle heads that are not Python syntax."""

    def node(self, term: Term) -> Any:
        """Return the syntax node of a term that is not a block."""
        head = read_head(term.head)
        if head.name == TABLE:
            return ast.parse(str(head.parts[0].scalars[0]), mode="eval").body
        node_class = class_of(head)
        node = node_class()
        children = iter(term.children)
        names = (name for name in node_class._fields if name != "ctx")
        for name, part in zip(names, head.parts, strict=False):
            setattr(node, name, self._decode_part(name, part, children, node_class))
        if "ctx" in node_class._fields:
            node.ctx = CONTEXTS.get(head.sort, ast.Load)()  # type: ignore[attr-defined]
        return node

    def block(self, term: Term) -> list[ast.stmt]:
        """Return the statements of a block."""
        statements: list[ast.stmt] = []
        if term.head.startswith(DO):
            (term,) = term.children
        while term.head.startswith(THEN):
            self.record_block(term, statements)
            statement, term = term.children
            statements += self.statements(statement)
        self.record_block(term, statements)
        if term.head != END:
            statements += self.rest(term)
        return statements

    def record_block(self, term: Term, statements: list[ast.stmt]) -> None:
        """Do nothing. A subclass may record the statements before the part of a block that a term represents."""

    def rest(self, term: Term) -> list[ast.stmt]:
        """Return the statements of the rest of a block that is not a chain of statements."""
        return [statement for child in term.children for statement in self.statements(child)]

    def statements(self, term: Term) -> list[ast.stmt]:
        """Return the statements of the term of one statement. A subclass may return several."""
        return [self.node(term)]

    def symbol(self, term: Term) -> str:
        """Return the name of a local variable."""
        return unescape(term.head.removeprefix(SYMBOL))

    def _decode_part(self, name: str, part: Part, children: Iterator[Term], node_class: type[ast.AST]) -> Any:
        """Return the value of the field of a node, for which the next children are taken if the field has any."""
        if part.is_scalar:
            values = [_make_operator(value) if name in ("op", "ops") else value for value in part.scalars]
            return values if part.is_list else values[0]
        if part.sorts and part.sorts[0] in (BLOCK, DEFINITIONS):
            return self.block(next(children))
        values = [None if sort is None else self._decode_child(sort, next(children)) for sort in part.sorts]
        return values if part.is_list else values[0]

    def _decode_child(self, sort: str, term: Term) -> Any:
        return self.symbol(term) if sort == SYMBOL_SORT else self.node(term)


def _make_operator(name: Any) -> ast.AST:
    operator_class: type[ast.AST] = getattr(ast, name)
    return operator_class()
