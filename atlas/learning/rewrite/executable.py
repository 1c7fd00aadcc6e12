"""Programs that can be run with the functions they call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from atlas.learning.analysis.functions import Function, function_source, program_source
from atlas.learning.rewrite.shelf import Shelf


def sources(shelf: Shelf, functions: Mapping[str, Function]) -> dict[str, str]:
    """Return the code of every function on a shelf, each after those that it calls."""
    return {
        name: function_source(replace(functions[name], pattern=pattern), functions)
        for name, pattern in shelf.patterns.items()
    }


def raising_stub(name: str) -> str:
    """Return the code of a function that raises in the place of another, so that it shows who calls that."""
    return f"def {name}(*_, **__): raise RuntimeError('spoilt')"


def standalone(name: str, shelf: Shelf, functions: Mapping[str, Function], disabled: str = "") -> str:
    """Return a program after the functions that it needs, so that it runs as it stands.

    Args:
        disabled: One of the functions, which raises instead.
    """
    parts = [
        function_source(replace(functions[each], pattern=shelf.patterns[each]), functions)
        for each in shelf.functions_of(name)
    ]
    stubs = [raising_stub(functions[disabled].name)] if disabled else []
    return "\n\n\n".join([*parts, *stubs, rewritten_source(name, shelf, functions)])


def rewritten_source(name: str, shelf: Shelf, functions: Mapping[str, Function]) -> str:
    """Return a program that calls functions, without the imports that it needs no more."""
    return program_source(shelf.programs[name], functions, shelf.removable_imports.get(name, frozenset()))
