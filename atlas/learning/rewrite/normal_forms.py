"""Normal forms, which are equal for code that differs only in names."""

from __future__ import annotations

import ast

from atlas.core.errors import InvalidInput
from atlas.learning.rewrite.rename import Renamer
from atlas.learning.terms.codec import encode
from atlas.learning.terms.names import Function
from atlas.learning.terms.normalisation import strip
from atlas.learning.terms.parsing import too_deep_error
from atlas.learning.terms.symbols import number_symbols, replace_symbols

ANONYMOUS_NAME = "_"


def normal_form(source: str) -> str:
    """Return a string that is equal for sources that differ only in layout, comments, annotations and function name.

    Raises:
        InvalidPython: The source does not parse, is too long or too deeply nested.
    """
    try:
        return ast.dump(_drop_names(source))
    except RecursionError as error:
        raise too_deep_error() from error


def shape(source: str) -> str:
    """Return a string that is equal for sources whose `normal_form` differs only in the names of local variables.

    Raises:
        InvalidPython: The source does not parse, is too long or too deeply nested.
    """
    try:
        term = encode(_drop_names(source))
        return str(replace_symbols(term, number_symbols(term)))
    except (InvalidInput, RecursionError):
        return normal_form(source)


def _drop_names(source: str) -> ast.Module:
    module = strip(source)
    functions = [node for node in module.body if isinstance(node, Function)]
    if len(functions) == 1:
        Renamer({functions[0].name: ANONYMOUS_NAME}).visit(module)
    return module
