"""What the ledger keeps as text in its rows, read back; whatever ATLAS cannot have written is said to be damage.

SQLite finds damage to its pages, but keeps no checksums: a bit that flips inside a text comes back as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from atlas.storage.sqlite.database import Unreadable
from atlas.storage.sqlite.ledger_file import damaged

T = TypeVar("T")

_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What reading something raises that is not as it was written; `InvalidInput` is a ValueError too."""


def parsed(text: Any, *names: str) -> dict[str, Any]:
    """The JSON object of a row, which has these names.

    Raises:
        Unreadable: It is none, or has not; inside a `Database`'s connection that is `StoreDamaged`.
    """
    try:
        held = json.loads(text)
    except _UNREADABLE as error:
        raise Unreadable(f"a text of a row is not JSON: {error}") from error
    if not isinstance(held, dict) or not held.keys() >= {*names}:
        raise Unreadable(f"a text of a row is not a JSON object of {', '.join(names) or 'names and values'}")
    return held


def instant(text: Any) -> datetime:
    """The time of a row, or `Unreadable`."""
    try:
        return datetime.fromisoformat(text)
    except _UNREADABLE as error:
        raise Unreadable(f"a time of a row is not ISO 8601: {error}") from error


def decoded(decode: Callable[[Any], T], row: Mapping[str, Any], name: str) -> T:
    """What a function makes of one of a record's texts that ATLAS has written.

    Raises:
        StoreDamaged: The text is not there, or the function cannot read it.
    """
    try:
        return decode(row[name])
    except _UNREADABLE as error:
        raise damaged(None, f"the {name} of a record cannot be read: {error}") from error


def stored_instant(row: Mapping[str, Any], name: str = "created_at") -> datetime:
    """`decoded`, of a time."""
    return decoded(datetime.fromisoformat, row, name)


def decoded_content(decode: Callable[[dict[str, Any]], T], metadata: Mapping[str, Any]) -> T:
    """`decoded`, of the JSON of a whole record."""
    return decoded(lambda text: decode(json.loads(text)), metadata, "content")
