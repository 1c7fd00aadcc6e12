"""Checks that values read from a file have the types that are declared: the file may be damaged, or of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

LARGEST = 2**63
"""Of a whole number: what SQLite and numpy can hold."""


def check_form(value: object, form: Any, place: str = "it") -> None:
    """Compare a value with a type: of dataclasses, mappings, tuples, unions, literals, texts and numbers.

    Raises:
        TypeError: Something in it is of another type, or a number is not finite.
        ValueError: A text is none that can be written.
    """
    if not _is_of(value, form):
        raise TypeError(f"{place} should be {form}, but is {type(value).__name__}")
    if is_dataclass(form):
        hints = get_type_hints(form)
        for field in fields(form):
            check_form(getattr(value, field.name), hints[field.name], f"{place}.{field.name}")
    elif isinstance(value, str):
        value.encode()
    for name, (part, part_form) in _parts(value, form).items():
        check_form(part, part_form, f"{place}[{name}]")


def _is_of(value: object, form: Any) -> bool:
    if get_origin(form) is UnionType:
        return any(_is_of(value, each) for each in get_args(form))
    if get_origin(form) is Literal:
        return value in get_args(form)
    if form in (int, float):
        return isinstance(value, int if form is int else int | float) and _is_number(value)
    return isinstance(value, get_origin(form) or form)


def _is_number(value: float) -> bool:
    return not isinstance(value, bool) and abs(value) < LARGEST  # so neither infinite nor NaN


def _parts(value: object, form: Any) -> dict[str, tuple[object, Any]]:
    """Return what a container or a union holds, each part with its form, by where it is."""
    if get_origin(form) is UnionType:
        inner = [each for each in get_args(form) if each is not NoneType and _is_of(value, each)]
        return {"": (value, inner[0])} if inner else {}
    arguments = get_args(form)
    if isinstance(value, Mapping):
        keys = {f"name {number}": (key, arguments[0]) for number, key in enumerate(value)}
        return keys | {str(key): (part, arguments[1]) for key, part in value.items()}
    if isinstance(value, tuple):
        return {str(number): (part, arguments[0]) for number, part in enumerate(value)}
    return {}
