"""Renaming of the local variables of a term."""

from __future__ import annotations

from collections.abc import Mapping

from atlas.learning.terms.terms import SYMBOL, Term


def number_symbols(term: Term) -> dict[str, str]:
    """Return a numbered head for each variable of a term, keyed by the variable's head.

    Terms that differ only in variables become equal if `replace_symbols` puts these heads in.
    """
    heads: dict[str, str] = {}
    for part in term.walk():
        if part.head.startswith(SYMBOL):
            heads.setdefault(part.head, f"{SYMBOL}{len(heads)}")
    return heads


def replace_symbols(term: Term, heads: Mapping[str, str]) -> Term:
    """Return a term with each variable replaced by the head given for it, keyed by the variable's own head."""
    return Term(heads.get(term.head, term.head), [replace_symbols(child, heads) for child in term.children])
