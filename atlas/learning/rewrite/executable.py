"""Source code of rewritten programs together with the functions that they call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from atlas.learning.analysis.functions import Function, function_source, program_source
from atlas.learning.rewrite.shelf import Shelf


def sources(shelf: Shelf, functions: Mapping[str, Function]) -> dict[str, str]:
    """Return the code of every function on a shelf, callees first."""
    return {
        name: function_source(replace(functions[name], pattern=pattern), functions)
        for name, pattern in shelf.patterns.items()
    }


def raising_stub(name: str) -> str:
    """Return the code of a replacement that raises, so that its callers can be found."""
    return f"def {name}(*_, **__): raise RuntimeError('disabled')"


def standalone(name: str, shelf: Shelf, functions: Mapping[str, Function], disabled: str = "") -> str:
    """Return the code of a program, preceded by the functions that it needs, so that it can be run.

    Args:
        disabled: A function to replace by a stub that raises.
    """
    parts = [
        function_source(replace(functions[head], pattern=shelf.patterns[head]), functions)
        for head in shelf.functions_of(name)
    ]
    stubs = [raising_stub(functions[disabled].name)] if disabled else []
    return "\n\n\n".join([*parts, *stubs, rewritten_source(name, shelf, functions)])


def rewritten_source(name: str, shelf: Shelf, functions: Mapping[str, Function]) -> str:
    """Return a program that calls functions, without the imports that it no longer needs."""
    return program_source(shelf.programs[name], functions, shelf.removable_imports.get(name, frozenset()))
