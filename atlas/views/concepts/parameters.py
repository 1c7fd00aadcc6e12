"""The names of a function's parameters, for a line of the list."""

from __future__ import annotations

import ast

from atlas.core.types import CodeConcept
from atlas.core.words import shortened
from atlas.learning.terms.parsing import try_parse

MAX_CHARACTERS = 120
"""Greatest length of the names that are shown."""


def parameters_of(concept: CodeConcept) -> str:
    """Return `(items, size)`, or an empty string if neither the signature nor the code defines them in Python."""
    head = (concept.signature.rpartition("->")[0] or concept.signature).strip()
    for source in (f"def {head}: ...", concept.code):
        module = try_parse(source)
        for node in module.body if module else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == concept.name:
                return shortened(f"({_names(node.args)})", MAX_CHARACTERS)
    return ""


def _names(arguments: ast.arguments) -> str:
    """Return the parameters without their types and defaults."""
    for each in [node for node in ast.walk(arguments) if isinstance(node, ast.arg)]:
        each.annotation = None
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    return ast.unparse(arguments)
