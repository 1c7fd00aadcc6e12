"""Patterns of the code that calls of a given function can replace."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from atlas.core.errors import InvalidInput
from atlas.learning.terms.codec import encode
from atlas.learning.terms.heads import DO, END, EXPRESSION, REST, STATEMENT, SYMBOL_SORT, THEN
from atlas.learning.terms.normalisation import normalise
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.terms import HOLE, SYMBOL, Term

DEFINITION_PREFIX, VARIABLE, RETURN_PREFIX = "d:FunctionDef/", "e:Name/sym", "s:Return/"
VARIABLE_PREFIXES = (VARIABLE, "e:Tuple/")


def extract_patterns(code: str) -> list[Pattern]:
    """Return unnamed patterns of the code that a call of a function can replace.

    A parameter that is only read matches any expression, and any other variable matches a variable. If the function
    only returns an expression, the pattern is that expression. Otherwise the pattern is its statements. If it returns
    only variables, there is also a pattern without the `return`.

    Raises:
        InvalidInput: The code is not one plain function after its imports.
    """
    module = normalise(code)
    parameters = _parameters_of_only_function(module)
    definition = next(term for term in encode(module).walk() if term.head.startswith(DEFINITION_PREFIX))
    body = next((child for child in definition.children if child.head.startswith(DO)), None)
    if body is None:
        raise InvalidInput(
            "expected a function without imports or definitions in its body, got at least one; put imports before it"
        )
    statements = list(_statements(body))
    if len(statements) == 1 and statements[0].head.startswith(RETURN_PREFIX) and statements[0].children:
        return [_make_pattern(statements[0].children[0], EXPRESSION, parameters)]
    blocks = [(statements, Term(END))]
    if not any(term.head.startswith(RETURN_PREFIX) for statement in statements[:-1] for term in statement.walk()):
        statements_before_return = statements[:-1] if _returns_only_variables(statements[-1]) else statements
        blocks += (
            [(statements_before_return, Term(REST))]
            if statements_before_return and not statements_before_return[-1].head.startswith(RETURN_PREFIX)
            else []
        )
    return [_make_pattern(_chain_statements(*block), REST, parameters) for block in blocks]


def _parameters_of_only_function(module: ast.Module) -> frozenset[str]:
    """Return the parameters of the one function that a module defines.

    Raises:
        InvalidInput: The module is not one plain function after its imports.
    """
    *imports, function = module.body or [ast.Pass()]
    if not isinstance(function, ast.FunctionDef):
        raise InvalidInput(
            f"expected imports and then one plain function, got {type(function).__name__}; end with one `def`"
        )
    if function.decorator_list:
        raise InvalidInput(f"expected a function without decorators, got decorators of {function.name!r}; remove them")
    if not all(isinstance(node, ast.Import | ast.ImportFrom) for node in imports):
        raise InvalidInput("expected only imports before the function, got other statements; remove them")
    arguments = function.args
    if arguments.defaults or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise InvalidInput(
            f"expected positional parameters without defaults for {function.name!r}, "
            f"got ({ast.unparse(arguments)}); remove defaults, stars and keyword-only parameters"
        )
    return frozenset(arg.arg for arg in (*arguments.posonlyargs, *arguments.args))


def _statements(block: Term) -> Iterator[Term]:
    (rest,) = block.children
    while rest.head.startswith(THEN):
        statement, rest = rest.children
        yield statement


def _returns_only_variables(statement: Term) -> bool:
    """Return whether a statement returns only variables."""
    if not statement.head.startswith(RETURN_PREFIX):
        return False
    return all(
        term.head.startswith((*VARIABLE_PREFIXES, SYMBOL)) for child in statement.children for term in child.walk()
    )


def _chain_statements(statements: list[Term], end: Term) -> Term:
    for statement in reversed(statements):
        end = Term(f"{THEN}/{STATEMENT}/{REST}", (statement, end))
    return end


def _make_pattern(body: Term, sort: str, parameters: frozenset[str]) -> Pattern:
    """Return an unnamed pattern for code, in which parameters that it does not assign match any expression."""
    assigned = {name for term in body.walk() if term.head != VARIABLE for name in _variable_names(term)}
    holes = _Holes(parameters - assigned)
    pattern_body = holes.open_holes(body)
    return Pattern(name="", body=pattern_body, sort=sort, hole_sorts=tuple(holes.sorts))


def _variable_names(term: Term) -> list[str]:
    return [child.head.removeprefix(SYMBOL) for child in term.children if child.head.startswith(SYMBOL)]


@dataclass(slots=True)
class _Holes:
    inlinable: frozenset[str]
    """Variables that stand for any expression."""

    numbers: dict[str, int] = field(default_factory=dict)
    sorts: list[str] = field(default_factory=list)

    def open_holes(self, term: Term) -> Term:
        """Return a term with holes for its inlinable variables, its other variables, and the rest of its block."""
        if term.head == REST:
            return self._hole(REST, REST)
        if term.head == VARIABLE and (name := _variable_names(term)[0]) in self.inlinable:
            return self._hole(name, EXPRESSION)
        if term.head.startswith(SYMBOL):
            return self._hole(term.head.removeprefix(SYMBOL), SYMBOL_SORT)
        return Term(term.head, [self.open_holes(child) for child in term.children])

    def _hole(self, name: str, sort: str) -> Term:
        number = self.numbers.setdefault(f"{sort} {name}", len(self.sorts))
        if number == len(self.sorts):
            self.sorts.append(sort)
        return Term(f"{HOLE}{number}")
