"""Merging of functions that differ only in names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from atlas.learning.analysis.dataflow import fits_interface
from atlas.learning.analysis.functions import Function
from atlas.learning.rewrite.executable import function_sources
from atlas.learning.rewrite.normal_forms import shape
from atlas.learning.rewrite.workspace import Workspace, locate_occurrences
from atlas.learning.terms.heads import EXPRESSION
from atlas.learning.terms.patterns import Pattern, rewrite


def merge(workspace: Workspace, functions: Mapping[str, Function]) -> int:
    """Keep one function of each set of duplicates. Return the number of removed functions.

    Two patterns give the same function if one has a hole for a variable where the other has a hole for any expression,
    or if one is an expression and the other is a `return` of it. The more general pattern is kept.
    """
    names_by_shape: dict[str, list[str]] = defaultdict(list)
    for name, source in function_sources(workspace, functions).items():
        names_by_shape[shape(source)].append(name)
    n_before = len(workspace.patterns)
    for names in names_by_shape.values():
        if len(names) > 1:
            general, *duplicates = sorted(
                names, key=lambda name: _generality_key(workspace.patterns[name]), reverse=True
            )
            _merge_into(general, duplicates, workspace, functions)
    return n_before - len(workspace.patterns)


def _generality_key(pattern: Pattern) -> tuple[bool, int]:
    return pattern.sort == EXPRESSION, pattern.hole_sorts.count(EXPRESSION)


def _merge_into(name: str, duplicates: list[str], workspace: Workspace, functions: Mapping[str, Function]) -> None:
    """Remove duplicates of a pattern, and let programs and later patterns call the pattern instead."""
    pattern, callers = workspace.patterns[name], workspace.callers()
    affected = set[str]().union(*(callers[duplicate] for duplicate in duplicates)) - set(duplicates)
    workspace.inline(duplicates)
    order = list(workspace.patterns)
    for caller in affected:
        if caller in workspace.programs or order.index(caller) > order.index(name):
            workspace.set_term(caller, rewrite(workspace.term(caller), [pattern]))
    while True:
        occurrences, programs = locate_occurrences(workspace)
        misfitting_calls = [
            occurrence.site
            for occurrence in occurrences[name]
            if not fits_interface(functions[name].interface, occurrence, programs[occurrence.program])
        ]
        if not misfitting_calls:
            return
        workspace.inline_sites(misfitting_calls)
