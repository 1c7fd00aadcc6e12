"""Samples of diverse programs from a corpus that is too large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from atlas.learning.search.limits import Limits
from atlas.learning.terms.terms import Term

ROUND_SIZE = 4
"""Number of programs that are taken from a group in each round."""


def sample(terms: Mapping[str, Term], limits: Limits) -> list[str]:
    """Return the names of as many programs as the limits permit, drawn evenly from groups of similar programs.

    The programs of a group have their rarest shared head in common. They may share an abstraction, which is found only
    if several of them are sampled.
    """
    if len(terms) <= limits.max_programs and sum(term.size for term in terms.values()) <= limits.max_heads:
        return list(terms)
    groups = group_by_rarest_head(terms)
    names: list[str] = []
    n_heads = 0
    for name in _round_robin(groups):
        if len(names) == limits.max_programs or n_heads + terms[name].size > limits.max_heads:
            continue  # a smaller program may still fit
        names.append(name)
        n_heads += terms[name].size
    selected = set(names)
    return [name for name in terms if name in selected]


def group_by_rarest_head(terms: Mapping[str, Term]) -> list[list[str]]:
    """Return the names of programs grouped by their rarest shared head, largest group first."""
    n_programs = Counter(head for term in terms.values() for head in _heads(term))
    groups: dict[str, list[str]] = {}
    for name, term in terms.items():
        shared = [head for head in _heads(term) if n_programs[head] > 1]
        rarest = min(shared, key=lambda head: (n_programs[head], head), default="")
        groups.setdefault(rarest, []).append(name)
    return sorted(groups.values(), key=len, reverse=True)


def _heads(term: Term) -> set[str]:
    return {part.head for part in term.walk() if not part.head.startswith("&")}


def _round_robin(groups: list[list[str]]) -> list[str]:
    """Return the names of programs in round-robin order over the groups, `ROUND_SIZE` of each group at a time."""
    ordered: list[str] = []
    for start in range(0, max(map(len, groups), default=0), ROUND_SIZE):
        for group in groups:
            ordered += group[start : start + ROUND_SIZE]
    return ordered
