"""Descriptions of editable fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """An editable text field."""

    name: str
    """Name of the field, and suffix of its widget key."""

    label: str
    height: int | None = None
    """Height in pixels, or None for a single line."""

    width: int | None = None
    """Width in pixels. Boxes with a width share a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceField(Field):
    """One of a few values."""

    values: tuple[str, ...]
    word: Callable[[str], str] = str
    """Function that returns the word shown for a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberField(Field):
    """A number."""

    least: float | None = None
    most: float | None = None
    step: float | None = None
    """Step of the input, or None for whole numbers."""


Fields = Sequence[Field]
"""The fields of a form, in the order of their boxes."""
