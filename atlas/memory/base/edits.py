"""The fields of a memory that may be edited, and their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Step

Editable = Mapping[str, type | tuple[type, ...]]
"""Allowed types, keyed by the name of a field."""


def check_changes(changes: Mapping[str, Any], editable: Editable) -> None:
    """Raise `InvalidInput` unless every changed field is editable, and its new value has the field's type."""
    unknown_names = sorted(set(changes) - set(editable))
    if unknown_names:
        raise InvalidInput(f"{', '.join(unknown_names)} cannot be edited; editable fields: {', '.join(editable)}")
    for name, value in changes.items():
        _check_type(name, value, editable[name])


def _check_type(name: str, value: Any, expected_type: type | tuple[type, ...]) -> None:
    is_right = isinstance(value, expected_type)
    if name == "steps" and is_right:
        is_right = all(isinstance(step, Step) for step in value)
    if not is_right:
        kind = "a list of Step" if name == "steps" else getattr(expected_type, "__name__", "a list")
        raise InvalidInput(f"expected {kind} for {name}, got {value!r}"[:300])
