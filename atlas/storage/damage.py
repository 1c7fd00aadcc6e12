"""Damage to a store's files: errors that name the remedy, and checked decoding of a record's fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from atlas.core.errors import StoreDamaged, StoreError

T = TypeVar("T")

UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Exceptions that decoding damaged data may raise. `InvalidInput` is a ValueError too."""

_MAX_FAULT = 200
"""Maximum characters of a cause in a message, because SQLite quotes whole texts."""


class UnreadableRow(StoreError):
    """A row is corrupt. The engine converts this error to `StoreDamaged`, which names the file."""


def damage_error(path: Path | None, problem: str) -> StoreDamaged:
    """Return the error for an unreadable ledger, with the remedy.

    Args:
        path: None if only the ledger's rows are known.
    """
    return StoreDamaged(
        f"the ledger {f'{path} ' if path else ''}is damaged ({problem[:_MAX_FAULT]}). Nothing was changed. Copy the "
        "whole directory somewhere safe first. Then restore a backup into a new directory (atlas --store NEW restore "
        f"FILE), or salvage what is readable with: sqlite3 {path or 'atlas.sqlite'} .recover"
    )


def decode_field(decode: Callable[[Any], T], row: Mapping[str, Any], name: str) -> T:
    """Return a field of a record, decoded by a function.

    Raises:
        StoreDamaged: The field is missing, or the function cannot decode it.
    """
    try:
        return decode(row[name])
    except UNREADABLE as error:
        raise damage_error(None, f"the {name} of a record cannot be read: {error}") from error


def stored_instant(row: Mapping[str, Any], name: str = "created_at") -> datetime:
    """Return a time from a record's metadata, or raise `StoreDamaged` if the time is unreadable."""
    return decode_field(datetime.fromisoformat, row, name)


def decode_content(decode: Callable[[dict[str, Any]], T], metadata: Mapping[str, Any]) -> T:
    """Return the record that a function decodes from a metadata's `content`, or raise `StoreDamaged`."""
    return decode_field(lambda text: decode(json.loads(text)), metadata, "content")


def parse_row(text: Any, *names: str) -> dict[str, Any]:
    """Return the JSON object in a text. The object must have the keys `names`.

    SQLite detects damage to its page structure, but has no checksums, so a flipped bit inside a text goes unnoticed.

    Raises:
        UnreadableRow: The row is not a JSON object, or lacks a key. A `Database` converts the error to `StoreDamaged`.
    """
    try:
        row = json.loads(text)
    except UNREADABLE as error:
        raise UnreadableRow(f"a row contains invalid JSON: {error}") from error
    if not isinstance(row, dict):
        raise UnreadableRow(f"expected a JSON object in a row, got a {type(row).__name__}")
    if missing := sorted({*names} - row.keys()):
        raise UnreadableRow(f"the JSON object of a row lacks {', '.join(missing)}")
    return row


def parse_time(text: Any) -> datetime:
    """Return the time in an ISO 8601 text, or raise `UnreadableRow`."""
    try:
        return datetime.fromisoformat(text)
    except UNREADABLE as error:
        raise UnreadableRow(f"a row contains a time that is not ISO 8601: {error}") from error
