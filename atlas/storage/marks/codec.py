"""Marks as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from atlas.core.json_values import check_json
from atlas.core.operations import Marks

MARK_NAMES = tuple(field.name for field in fields(Marks))


def encode_marks(marks: Marks) -> dict[str, Any]:
    """Return marks as a JSON object, without empty fields."""
    encoded = {
        "tags": list(marks.tags),
        "pinned": marks.pinned,
        "note": marks.note,
        "buried": marks.buried,
        "held_for": marks.held_for,
        "quarantine": marks.quarantine,
    }
    return {name: value for name, value in encoded.items() if value}


def decode_marks(encoded: Mapping[str, Any]) -> Marks:
    """Return marks decoded from JSON. Missing fields are empty."""
    return Marks(
        tags=tuple(encoded.get("tags", ())),
        pinned=bool(encoded.get("pinned")),
        note=encoded.get("note", ""),
        buried=bool(encoded.get("buried")),
        held_for=encoded.get("held_for", ""),
        quarantine=encoded.get("quarantine", ""),
    )


def is_marks_by_table(parsed: Any) -> bool:
    """Return whether a JSON value is an object of objects of encoded marks, as in a marks file or a backup."""
    return isinstance(parsed, dict) and all(
        isinstance(table, dict) and all(is_marks(marks) for marks in table.values()) for table in parsed.values()
    )


def is_marks(value: Any) -> bool:
    """Return whether `decode_marks` can read a JSON value."""
    if not isinstance(value, dict):
        return False
    tags = value.get("tags", [])
    texts = [value.get(name, "") for name in ("note", "held_for", "quarantine")]
    return isinstance(tags, list) and all(isinstance(text, str) for text in [*tags, *texts])


def check_marks(marks: Mapping[str, Marks]) -> None:
    """Raise `InvalidInput` for a tag or note that JSON cannot encode."""
    for value in marks.values():
        check_json(encode_marks(value), "marks")
