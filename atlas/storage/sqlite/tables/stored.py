"""Texts in the ledger's rows, read back. A text that ATLAS cannot have written is reported as damage.

SQLite finds damage to its pages, but keeps no checksums: a bit that flips inside a text comes back as it is.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from atlas.storage.damage import UNREADABLE
from atlas.storage.sqlite.database import Unreadable


def parsed(text: Any, *names: str) -> dict[str, Any]:
    """Return the JSON object of a row, which has these names.

    Raises:
        Unreadable: It is none, or has not; inside a `Database`'s connection that is `StoreDamaged`.
    """
    try:
        held = json.loads(text)
    except UNREADABLE as error:
        raise Unreadable(f"a text of a row is not JSON: {error}") from error
    if not isinstance(held, dict) or not held.keys() >= {*names}:
        raise Unreadable(f"a text of a row is not a JSON object of {', '.join(names) or 'names and values'}")
    return held


def instant(text: Any) -> datetime:
    """Return the time of a row, or `Unreadable`."""
    try:
        return datetime.fromisoformat(text)
    except UNREADABLE as error:
        raise Unreadable(f"a time of a row is not ISO 8601: {error}") from error
