"""A library's functions put into programs that it was not learned from, wherever they fit and make them shorter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from atlas.learning.analysis.dataflow import fits
from atlas.learning.analysis.functions import Function
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.shelf import Shelf, located, without
from atlas.learning.search.limits import IsCancelled
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.terms import Term


def applied(
    library: Shelf,
    functions: Mapping[str, Function],
    originals: Mapping[str, Term],
    spare: Mapping[str, frozenset[str]],
    cancelled: IsCancelled = lambda: False,
) -> Shelf:
    """Return a shelf of other programs, which call the functions of a library.

    Args:
        spare: Names whose imports leave a program once it reads them no more, by program.
    """
    whole = _whole(library)
    largest = sorted(whole.values(), key=lambda pattern: -pattern.body.size)
    shelf = Shelf(originals, originals, library.patterns.values(), spare)
    lengths = Lengths(shelf, functions)
    for name, term in originals.items():
        cancelled()
        shelf.put(name, _called(name, term, largest, functions))
        for pattern in (whole[head] for head in sorted(shelf.programs[name].calls)):
            _shorten(name, pattern, shelf, lengths)
    return shelf


def _called(name: str, original: Term, patterns: list[Pattern], functions: Mapping[str, Function]) -> Term:
    """Return a program with every call that the functions allow."""
    shelf = Shelf({name: original}, {name: rewrite(original, patterns)}, patterns)
    while True:
        occurrences, programs = located(shelf)
        wrong = [
            occurrence.site
            for head, found in occurrences.items()
            for occurrence in found
            if not fits(functions[head].interface, occurrence, programs[name])
        ]
        if not wrong:
            return shelf.programs[name]
        shelf.inline_sites(wrong)


def _whole(shelf: Shelf) -> dict[str, Pattern]:
    """Return the patterns without calls of each other."""
    whole: dict[str, Pattern] = {}
    for name, pattern in shelf.patterns.items():
        body = pattern.body
        for other in reversed(whole.values()):
            body = without(body, other)
        whole[name] = replace(pattern, body=body)
    return whole


def _shorten(name: str, pattern: Pattern, shelf: Shelf, lengths: Lengths) -> None:
    """Take out the calls of a pattern where they make a program no shorter."""
    other = without(shelf.programs[name], pattern)
    if lengths.of(name, other) <= lengths.of(name):
        shelf.put(name, other)
