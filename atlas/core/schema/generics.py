"""Declared types of fields and arguments, with type variables replaced."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints


def bindings(declared: Any) -> dict[Any, Any]:
    """Return the types that the type variables of a class and of its bases stand for."""
    origin = get_origin(declared) or declared
    bound = dict(zip(getattr(origin, "__parameters__", ()), get_args(declared), strict=False))
    for base in getattr(origin, "__orig_bases__", ()):
        bound |= {variable: bind(form, bound) for variable, form in bindings(base).items()}
    return bound


def bind(declared: Any, bound: Mapping[Any, Any]) -> Any:
    """Return a type with its type variables replaced."""
    if isinstance(declared, TypeVar):
        return bound.get(declared, declared)
    variables = getattr(declared, "__parameters__", ())
    if not variables or not get_args(declared):
        return declared
    return declared[tuple(bound.get(variable, variable) for variable in variables)]


@cache
def types_of_fields(declared: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields, by their names."""
    bound, hints = bindings(declared), get_type_hints(get_origin(declared) or declared)
    return {name: bind(hint, bound) for name, hint in hints.items()}
