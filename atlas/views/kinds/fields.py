"""Fields that a person can edit. One row describes the box of a field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A text that can be edited."""

    name: str
    """The field of what is edited, and the end of the key of its box."""

    label: str
    height: int | None = None
    """In pixels. A box without a height has one line."""

    width: int | None = None
    """In pixels. Boxes with a width stand beside each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceField(Field):
    """One of a few values."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberField(Field):
    """A number."""

    least: float | None = None
    most: float | None = None
    step: float | None = None
    """Without it, whole numbers are asked for."""


Fields = Sequence[Field]
"""The fields of a form, in the order of their boxes."""
