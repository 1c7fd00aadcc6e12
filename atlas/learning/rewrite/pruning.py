"""Pruning of functions that do not pay: minimum description length, with the library counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from atlas.learning.analysis.functions import Function, body_source, function_source, program_source
from atlas.learning.rewrite.shelf import Shelf, users, without
from atlas.learning.search.limits import IsCancelled, Limits
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.terms import Term

UNWRITABLE = 1_000_000
"""Length of what Python's unparser refuses: an f-string with a backslash in its braces."""


class Lengths:
    """The length of each program and function in tokens, as it is or would be."""

    def __init__(self, shelf: Shelf, functions: Mapping[str, Function]) -> None:
        self._shelf = shelf
        self._functions = functions
        self._known: dict[tuple[str, Term], int] = {}
        self._bodies: dict[Term, int] = {}

    def of(self, name: str, term: Term | None = None) -> int:
        """Return the length of a program or function, with another term where one is given."""
        term = self._shelf.term(name) if term is None else term
        if (name, term) not in self._known:
            self._known[name, term] = self._count(name, term)
        return self._known[name, term]

    def body_of(self, name: str) -> int:
        """Return the length of a function's body alone."""
        body = self._shelf.term(name)
        if body not in self._bodies:
            self._bodies[body] = self._count_body(name, body)
        return self._bodies[body]

    def _count_body(self, name: str, body: Term) -> int:
        try:
            return n_tokens(body_source(self._function(name, body), self._functions))
        except ValueError:
            return 0

    def _function(self, name: str, body: Term) -> Function:
        function = self._functions[name]
        return replace(function, pattern=replace(function.pattern, body=body))

    def _count(self, name: str, term: Term) -> int:
        try:
            if name in self._functions:
                return n_tokens(function_source(self._function(name, term), self._functions))
            return n_tokens(program_source(term, self._functions))
        except ValueError:
            return UNWRITABLE

    def total(self) -> int:
        """Return the length of all programs and the library."""
        return sum(self.of(name) for name in (*self._shelf.programs, *self._shelf.patterns))

    def saving(self, name: str, callers: set[str]) -> int:
        """Return the tokens that would be added without a function, less those of the function."""
        pattern = self._shelf.patterns[name]
        longer = sum(
            self.of(caller, without(self._shelf.term(caller), pattern)) - self.of(caller) for caller in callers
        )
        return longer - self.of(name)


def prune(
    shelf: Shelf, functions: Mapping[str, Function], tasks: Mapping[str, str], limits: Limits, cancelled: IsCancelled
) -> dict[str, int]:
    """Take off what is too small, too rare, or does not pay, the worst first, and return the saving of each that stays.

    Args:
        tasks: The task of each program.
    """
    lengths = Lengths(shelf, functions)
    savings: dict[str, int] = {}
    callers = shelf.callers()
    used = users(shelf)
    rare = {name for name, programs in used.items() if len({tasks[each] for each in programs}) < limits.min_tasks}
    while True:
        for name in shelf.patterns:
            cancelled()
            if name not in savings:
                savings[name] = lengths.saving(name, callers[name])
        small = {name for name in shelf.patterns if lengths.body_of(name) < limits.min_body_tokens}
        dropped = rare | small | {name for name, saving in savings.items() if saving <= 0}
        worst = min(dropped & savings.keys(), key=lambda name: (savings[name], name), default=None)
        if worst is None:
            return savings
        changed = callers[worst]
        shelf.inline([worst])
        callers = shelf.callers()
        for caller in changed:  # what they call, and they themselves, save something else now
            for name in (caller, *shelf.term(caller).calls):
                savings.pop(name, None)
        savings.pop(worst, None)
