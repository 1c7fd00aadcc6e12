"""Rewriting of programs to call a library that was not learned from them, where that makes them shorter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from atlas.learning.analysis.dataflow import fits
from atlas.learning.analysis.functions import Function
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.shelf import Shelf, inline_pattern, locate_occurrences
from atlas.learning.search.limits import RaiseIfCancelled
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.terms import Term


def apply_library(
    library: Shelf,
    functions: Mapping[str, Function],
    originals: Mapping[str, Term],
    removable_imports: Mapping[str, frozenset[str]],
    raise_if_cancelled: RaiseIfCancelled = lambda: None,
) -> Shelf:
    """Return a shelf of other programs, rewritten to call the functions of a library.

    Args:
        removable_imports: Names whose imports are removed once a program no longer reads them, by program.
    """
    inlined = _inline_calls(library)
    largest = sorted(inlined.values(), key=lambda pattern: -pattern.body.size)
    shelf = Shelf(originals, originals, library.patterns.values(), removable_imports)
    lengths = Lengths(shelf, functions)
    for name, term in originals.items():
        raise_if_cancelled()
        shelf.put(name, _insert_calls(name, term, largest, functions))
        for pattern in (inlined[head] for head in sorted(shelf.programs[name].calls)):
            _inline_unhelpful_calls(name, pattern, shelf, lengths)
    return shelf


def _insert_calls(name: str, original: Term, patterns: list[Pattern], functions: Mapping[str, Function]) -> Term:
    """Return a program with a call for every occurrence of a function."""
    shelf = Shelf({name: original}, {name: rewrite(original, patterns)}, patterns)
    while True:
        occurrences, programs = locate_occurrences(shelf)
        wrong = [
            occurrence.site
            for head, occurrences_of_head in occurrences.items()
            for occurrence in occurrences_of_head
            if not fits(functions[head].interface, occurrence, programs[name])
        ]
        if not wrong:
            return shelf.programs[name]
        shelf.inline_sites(wrong)


def _inline_calls(shelf: Shelf) -> dict[str, Pattern]:
    """Return the patterns with all calls between them inlined."""
    inlined: dict[str, Pattern] = {}
    for name, pattern in shelf.patterns.items():
        body = pattern.body
        for inlined_pattern in reversed(inlined.values()):
            body = inline_pattern(body, inlined_pattern)
        inlined[name] = replace(pattern, body=body)
    return inlined


def _inline_unhelpful_calls(name: str, pattern: Pattern, shelf: Shelf, lengths: Lengths) -> None:
    """Inline each call of a pattern that does not make the program shorter."""
    inlined_program = inline_pattern(shelf.programs[name], pattern)
    if lengths.of(name, inlined_program) <= lengths.of(name):
        shelf.put(name, inlined_program)
