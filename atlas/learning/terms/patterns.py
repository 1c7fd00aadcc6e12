"""Patterns: terms with holes, and their matches in other terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atlas.learning.terms.heads import SYMBOL_SORT
from atlas.learning.terms.terms import SYMBOL, Term, hole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """An abstraction: a term with holes, and the sort of terms that it may replace."""

    name: str
    """Head of the terms that call the pattern, such as `fn_3`."""

    body: Term
    """Term with the holes `#0`, `#1` …, which may call earlier patterns."""

    sort: str
    hole_sorts: tuple[str, ...]
    """The sort of each hole: an expression, the rest of a block, or the name of a variable."""


def match(pattern: Pattern, term: Term) -> Term | None:
    """Return the call of a pattern that can replace a term, or None if the pattern does not match."""
    arguments: list[Term | None] = [None] * len(pattern.hole_sorts)
    if not _matches(pattern.body, term, pattern.hole_sorts, arguments):
        return None
    return Term(pattern.name, [argument for argument in arguments if argument is not None])


def _matches(body: Term, term: Term, sorts: Sequence[str], arguments: list[Term | None]) -> bool:
    """Return whether a term matches a pattern's body. Record the term that each hole matches in `arguments`."""
    index = hole_number(body.head)
    if index is not None:
        if arguments[index] is None and _has_sort(sorts[index], term):
            arguments[index] = term
        return arguments[index] == term
    if body.head != term.head or len(body.children) != len(term.children):
        return False
    return all(_matches(*pair, sorts, arguments) for pair in zip(body.children, term.children, strict=True))


def _has_sort(sort: str, term: Term) -> bool:
    if sort == SYMBOL_SORT:
        return term.head.startswith(SYMBOL)
    return term.head.startswith((f"{sort}:", "fn_"))


def rewrite(term: Term, patterns: Sequence[Pattern]) -> Term:
    """Return the term with each match replaced by a call, from the root down. Earlier patterns take precedence."""
    by_head: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        by_head.setdefault(pattern.body.head, []).append(pattern)
    return _rewrite_term(term, by_head)


def _rewrite_term(term: Term, by_head: Mapping[str, Sequence[Pattern]]) -> Term:
    """Replace each part of a term that matches a pattern with a call. Return the same term if nothing matches."""
    for pattern in by_head.get(term.head, ()):
        if (call := match(pattern, term)) is not None:
            return Term(call.head, [_rewrite_term(argument, by_head) for argument in call.children])
    if not term.children:
        return term
    children = [_rewrite_term(child, by_head) for child in term.children]
    is_unchanged = all(new is old for new, old in zip(children, term.children, strict=True))
    return term if is_unchanged else Term(term.head, children)
