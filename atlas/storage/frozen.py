"""Stores that never change again: copies that were made for whoever may see how a store was."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from atlas.core.errors import StoreUnavailable
from atlas.storage.place.access import access_place

PREFIX = "frozen-"
"""Beginning of the names of the directories within a store where its frozen copies lie."""

STAMP = "frozen.json"
"""Name of the file in a store's directory with the time of its freezing. A store with it opens for reading alone."""


def frozen_copy(store: Path, name: str) -> Path:
    """Return the directory of a frozen copy of a store.

    Args:
        name: Name of the copy, of letters and digits.
    """
    return store / f"{PREFIX}{name}"


def present_copy(store: Path, name: str) -> Path | None:
    """Return the directory of a frozen copy, or None if it is missing or may contain records purged since.

    A purge removes the copies of its own machine. Others ask for it.
    """
    copy = frozen_copy(store, name)
    try:
        before = json.loads((copy / STAMP).read_text(encoding="utf-8")).get("last_purge", "")
    except (OSError, ValueError, AttributeError):
        return copy if copy.is_dir() else None  # whoever opens it is told what is wrong
    return copy if before == access_place(store).last_purge() else None


def frozen_at(store: Path) -> datetime | None:
    """Return when a store was frozen. None for one that agents may write to.

    Raises:
        StoreUnavailable: The store is a frozen copy of an unreadable time.
    """
    try:
        return datetime.fromisoformat(json.loads((store / STAMP).read_text(encoding="utf-8"))["frozen_at"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreUnavailable(f"{store / STAMP} cannot be read ({error}), so this copy is not shown") from error
