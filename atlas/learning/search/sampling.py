"""Samples of diverse programs from a corpus that is too large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from atlas.learning.search.limits import Limits
from atlas.learning.terms.terms import Term

GROUP = 4
"""Number of programs of one kind that are sampled together."""


def sample(terms: Mapping[str, Term], limits: Limits) -> list[str]:
    """Return the names of as many programs as the limits permit, evenly distributed over all kinds.

    Programs are of one kind if they share their rarest common head. Such programs may have an abstraction in common,
    which is found only if several of them are sampled.
    """
    if len(terms) <= limits.max_programs and sum(term.size for term in terms.values()) <= limits.max_heads:
        return list(terms)
    groups = kinds(terms)
    names: list[str] = []
    n_heads = 0
    for name in _in_turn(groups):
        if len(names) == limits.max_programs or n_heads + terms[name].size > limits.max_heads:
            continue  # a smaller program may still fit
        names.append(name)
        n_heads += terms[name].size
    selected = set(names)
    return [name for name in terms if name in selected]


def kinds(terms: Mapping[str, Term]) -> list[list[str]]:
    """Return groups of programs, the largest first."""
    n_programs = Counter(head for term in terms.values() for head in _heads(term))
    groups: dict[str, list[str]] = {}
    for name, term in terms.items():
        shared = [head for head in _heads(term) if n_programs[head] > 1]
        kind = min(shared, key=lambda head: (n_programs[head], head), default="")
        groups.setdefault(kind, []).append(name)
    return sorted(groups.values(), key=len, reverse=True)


def _heads(term: Term) -> set[str]:
    return {part.head for part in term.walk() if not part.head.startswith("&")}


def _in_turn(groups: list[list[str]]) -> list[str]:
    """Return programs in round-robin order over the groups, a few of each group at a time."""
    ordered: list[str] = []
    for begin in range(0, max(map(len, groups), default=0), GROUP):
        for group in groups:
            ordered += group[begin : begin + GROUP]
    return ordered
