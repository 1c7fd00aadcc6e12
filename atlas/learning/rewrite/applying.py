"""Rewriting of programs to call a library that was not learned from them, where that makes them shorter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from atlas.learning.analysis.dataflow import fits_interface
from atlas.learning.analysis.functions import Function
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.workspace import Workspace, inline_pattern, locate_occurrences
from atlas.learning.search.limits import RaiseIfCancelled
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.terms import HOLE, SYMBOL, Term


def apply_library(
    library: Workspace,
    functions: Mapping[str, Function],
    originals: Mapping[str, Term],
    removable_imports: Mapping[str, frozenset[str]],
    raise_if_cancelled: RaiseIfCancelled = lambda: None,
) -> Workspace:
    """Rewrite other programs to call the functions of a library, and return them as a workspace.

    Args:
        removable_imports: Names whose imports are removed once a program no longer reads them, keyed by program.
    """
    patterns = _inline_calls(library)
    workspace = Workspace(originals, originals, patterns.values(), removable_imports)
    lengths = Lengths(workspace, functions)
    heads = {name: _heads(pattern.body) for name, pattern in patterns.items()}
    for name, term in originals.items():
        raise_if_cancelled()
        available = _heads(term)
        possible = [pattern for head, pattern in patterns.items() if heads[head] <= available]
        _insert_calls(name, possible, workspace, functions, lengths)
        workspace.trees.pop(name, None)  # there may be thousands of programs
    workspace.patterns = dict(library.patterns)
    return workspace


def rewrite_from_originals(
    library: Workspace, functions: Mapping[str, Function], raise_if_cancelled: RaiseIfCancelled = lambda: None
) -> int:
    """Rewrite the programs of a library again, each from its original. Return how many became shorter."""
    rewritten = apply_library(library, functions, library.originals, library.removable_imports, raise_if_cancelled)
    lengths = Lengths(library, functions)
    shorter = {name: term for name, term in rewritten.programs.items() if lengths.of(name, term) < lengths.of(name)}
    for name, term in shorter.items():
        library.set_term(name, term)
    return len(shorter)


def _heads(term: Term) -> set[str]:
    """Return the heads in a term that are neither variables nor holes."""
    return {part.head for part in term.walk() if not part.head.startswith((SYMBOL, HOLE))}


def _insert_calls(
    name: str, patterns: list[Pattern], workspace: Workspace, functions: Mapping[str, Function], lengths: Lengths
) -> None:
    """Insert calls into a program, of the function that shortens it most first, until no call shortens it."""
    while True:
        trials = {pattern.name: _with_calls(name, pattern, workspace, functions) for pattern in patterns}
        patterns = [pattern for pattern in patterns if pattern.name in trials[pattern.name].calls]
        best_pattern = min(patterns, key=lambda pattern: lengths.of(name, trials[pattern.name]), default=None)
        if best_pattern is None or lengths.of(name, trials[best_pattern.name]) >= lengths.of(name):
            return
        workspace.set_term(name, trials[best_pattern.name])
        patterns.remove(best_pattern)


def _with_calls(name: str, pattern: Pattern, workspace: Workspace, functions: Mapping[str, Function]) -> Term:
    """Return a program with a call in place of each occurrence of a pattern that fits the function's interface."""
    rewritten = rewrite(workspace.programs[name], [pattern])
    if rewritten is workspace.programs[name]:
        return rewritten
    trial = Workspace(
        {name: workspace.originals[name]}, {name: rewritten}, workspace.patterns.values(), trees=workspace.trees
    )
    occurrences, programs = locate_occurrences(trial)
    interface = functions[pattern.name].interface
    trial.inline_sites(
        [
            occurrence.site
            for occurrence in occurrences[pattern.name]
            if not fits_interface(interface, occurrence, programs[name])
        ]
    )
    return trial.programs[name]


def _inline_calls(workspace: Workspace) -> dict[str, Pattern]:
    """Return the patterns of a workspace with all calls in their bodies inlined, keyed by name."""
    inlined: dict[str, Pattern] = {}
    for name, pattern in workspace.patterns.items():
        body = pattern.body
        for inlined_pattern in reversed(inlined.values()):
            body = inline_pattern(body, inlined_pattern)
        inlined[name] = replace(pattern, body=body)
    return inlined
