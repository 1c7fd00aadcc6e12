"""Frozen copies of a store, which are read-only."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from atlas.core.errors import StoreUnavailable
from atlas.storage.location.access import access_storage

PREFIX = "frozen-"
"""Prefix of the directories of frozen copies within a store."""

STAMP = "frozen.json"
"""Name of the file with the time of freezing. A store with this file is read-only."""


def frozen_copy_path(store: Path, name: str) -> Path:
    """Return the directory of a frozen copy of a store.

    Args:
        name: Name of the copy, of letters and digits.
    """
    return store / f"{PREFIX}{name}"


def current_copy(store: Path, name: str) -> Path | None:
    """Return the directory of a frozen copy, or None if it is missing or older than a purge.

    A purge only removes the copies on the machine where it runs.
    """
    copy = frozen_copy_path(store, name)
    try:
        last_purge_at_freezing = json.loads((copy / STAMP).read_text(encoding="utf-8")).get("last_purge", "")
    except (OSError, ValueError, AttributeError):
        return copy if copy.is_dir() else None  # opening it reports the error
    return copy if last_purge_at_freezing == access_storage(store).last_purge() else None


def frozen_at(store: Path) -> datetime | None:
    """Return the time at which a store was frozen, or None for a writable store.

    Raises:
        StoreUnavailable: The time of a frozen copy cannot be read.
    """
    try:
        return datetime.fromisoformat(json.loads((store / STAMP).read_text(encoding="utf-8"))["frozen_at"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreUnavailable(
            f"{store / STAMP} cannot be read ({error}), so this copy cannot be opened; remove it, and make a new one"
        ) from error
