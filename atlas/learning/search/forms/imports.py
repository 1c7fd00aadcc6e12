"""Canonical imported names: `module.name`, however the name was imported."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from atlas.learning.search.forms.nodes import load_name, substitute
from atlas.learning.terms.walking import walk

_USUAL_ALIASES = {"np": "numpy", "pd": "pandas"}
"""Usual aliases of modules, for code without its import statements."""


def qualify_names(body: list[ast.stmt], imports: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return statements with imported names written as `module.name`."""
    names = {short: _dotted_name(module) for short, module in _USUAL_ALIASES.items()}
    for node in (node for statement in (*imports, *body) for node in walk(statement)):
        match node:
            case ast.ImportFrom(module=str(module), names=imported, level=0):
                names |= {alias.asname or alias.name: _dotted_name(f"{module}.{alias.name}") for alias in imported}
            case ast.Import(names=imported):
                names |= {alias.asname: _dotted_name(alias.name) for alias in imported if alias.asname}
    return [substitute(statement, names) for statement in body]


def _dotted_name(name: str) -> ast.expr:
    first, *attributes = name.split(".")
    value: ast.expr = load_name(first)
    for attribute in attributes:
        value = ast.Attribute(value, attribute, ast.Load())
    return value
