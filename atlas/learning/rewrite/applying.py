"""Rewriting of programs to call a library that was not learned from them, where that makes them shorter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from atlas.learning.analysis.dataflow import fits_interface
from atlas.learning.analysis.functions import Function
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.shelf import Shelf, inline_pattern, locate_occurrences
from atlas.learning.search.limits import RaiseIfCancelled
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.terms import HOLE, SYMBOL, Term


def apply_library(
    library: Shelf,
    functions: Mapping[str, Function],
    originals: Mapping[str, Term],
    removable_imports: Mapping[str, frozenset[str]],
    raise_if_cancelled: RaiseIfCancelled = lambda: None,
) -> Shelf:
    """Return a shelf of other programs that are rewritten to call the functions of a library.

    Args:
        removable_imports: Names whose imports are removed once a program no longer reads them, keyed by program.
    """
    patterns = _inline_calls(library)
    shelf = Shelf(originals, originals, patterns.values(), removable_imports)
    lengths = Lengths(shelf, functions)
    heads = {name: _heads(pattern.body) for name, pattern in patterns.items()}
    for name, term in originals.items():
        raise_if_cancelled()
        available = _heads(term)
        possible = [pattern for head, pattern in patterns.items() if heads[head] <= available]
        _insert_calls(name, possible, shelf, functions, lengths)
        shelf.trees.pop(name, None)  # there may be thousands of programs
    shelf.patterns = dict(library.patterns)
    return shelf


def apply_again(
    library: Shelf, functions: Mapping[str, Function], raise_if_cancelled: RaiseIfCancelled = lambda: None
) -> int:
    """Rewrite the programs of a library again, starting from their originals. Return how many became shorter."""
    anew = apply_library(library, functions, library.originals, library.removable_imports, raise_if_cancelled)
    lengths = Lengths(library, functions)
    shorter = {name: term for name, term in anew.programs.items() if lengths.of(name, term) < lengths.of(name)}
    for name, term in shorter.items():
        library.set_term(name, term)
    return len(shorter)


def _heads(term: Term) -> set[str]:
    """Return the heads in a term that are neither variables nor holes."""
    return {part.head for part in term.walk() if not part.head.startswith((SYMBOL, HOLE))}


def _insert_calls(
    name: str, patterns: list[Pattern], shelf: Shelf, functions: Mapping[str, Function], lengths: Lengths
) -> None:
    """Insert calls into a program while it gets shorter, each time of the function that shortens it most."""
    while True:
        trials = {pattern.name: _with_calls(name, pattern, shelf, functions) for pattern in patterns}
        patterns = [pattern for pattern in patterns if pattern.name in trials[pattern.name].calls]
        best = min(patterns, key=lambda pattern: lengths.of(name, trials[pattern.name]), default=None)
        if best is None or lengths.of(name, trials[best.name]) >= lengths.of(name):
            return
        shelf.set_term(name, trials[best.name])
        patterns.remove(best)


def _with_calls(name: str, pattern: Pattern, shelf: Shelf, functions: Mapping[str, Function]) -> Term:
    """Return a program with a call in place of each occurrence that fits the function's interface."""
    rewritten = rewrite(shelf.programs[name], [pattern])
    if rewritten is shelf.programs[name]:
        return rewritten
    trial = Shelf({name: shelf.originals[name]}, {name: rewritten}, shelf.patterns.values(), trees=shelf.trees)
    occurrences, programs = locate_occurrences(trial)
    interface = functions[pattern.name].interface
    trial.inline_sites(
        [each.site for each in occurrences[pattern.name] if not fits_interface(interface, each, programs[name])]
    )
    return trial.programs[name]


def _inline_calls(shelf: Shelf) -> dict[str, Pattern]:
    """Return the patterns of a shelf with all calls in their bodies inlined, keyed by name."""
    inlined: dict[str, Pattern] = {}
    for name, pattern in shelf.patterns.items():
        body = pattern.body
        for inlined_pattern in reversed(inlined.values()):
            body = inline_pattern(body, inlined_pattern)
        inlined[name] = replace(pattern, body=body)
    return inlined
