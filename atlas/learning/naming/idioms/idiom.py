"""The entry of a table: what a function is called that does something well known, and how it may be written."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from textwrap import dedent

from atlas.learning.naming.matching import Match, Pattern, matched, pattern_of
from atlas.learning.naming.roles import are_alike
from atlas.learning.search.forms.canonical import Form, form_of


@dataclass(frozen=True, kw_only=True)
class Idiom:
    """A well-known piece of work, under the names that programmers give it."""

    names: tuple[str, ...]
    """Names, best first. `{TEST}` stands for the words of what is in that hole."""

    says: str
    """Sentence on what it does. `{items}` stands for a parameter, and `{TEST}` for the code in that hole."""

    sources: tuple[str, ...]
    """Ways to write it, each a function or a lambda. The order of the first one's parameters is that of all."""

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The sources in the form that code is compared in, each once."""
        return tuple(pattern_of(form_of(_function(source))) for source in self.sources)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Roles of the parameters, in the order in which someone who knows the name alone would pass them."""
        return self.patterns[0].form.parameters

    def match(self, form: Form) -> Match | None:
        """Return how the code fits, or None where it does something else, or takes its arguments in another order."""
        found = (matched(pattern, form) for pattern in self.patterns)
        return next((match for match in found if match and not self._is_turned(match, form.parameters)), None)

    def _is_turned(self, match: Match, parameters: Sequence[str]) -> bool:
        """Return whether two arguments that may be taken for each other stand the other way round."""
        roles = [role for role in self.parameters if match.names.get(role) in parameters]
        places = {role: parameters.index(match.names[role]) for role in roles}
        return any(are_alike(one, other) and places[one] > places[other] for one, other in combinations(roles, 2))


def idiom(names: str, says: str, *sources: str) -> Idiom:
    """Return an entry.

    Args:
        names: With spaces between them.
        sources: Each a `def`, or a lambda where it only returns an expression.
    """
    return Idiom(names=tuple(names.split()), says=says, sources=sources)


def _function(source: str) -> ast.FunctionDef:
    match ast.parse(dedent(source)).body:
        case [ast.FunctionDef() as function]:
            return function
        case [ast.Expr(value=ast.Lambda(args=args, body=body))]:
            return ast.FunctionDef("itself", args, [ast.Return(body)], [], None, None)
    raise ValueError(f"expected one function or one lambda, got {source!r}")


def first_of(idioms: Iterable[Idiom], form: Form) -> tuple[Idiom, Match] | None:
    """Return the first idiom that the code fits, and how."""
    found = ((one, one.match(form)) for one in idioms)
    return next(((one, match) for one, match in found if match is not None), None)
