"""The label of a store's directory, with the address of the store if it is in PostgreSQL."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from atlas.core.address import Address, companion, is_address, read_address

LABEL = "store.json"

_opened: dict[Path, Address] = {}
"""Addresses that this process has opened, by directory. The addresses may have a password. A label has none."""


def remember(directory: Path, address: Address) -> None:
    """Remember the address of the PostgreSQL store whose local files are in a directory."""
    _opened[directory] = address


def address_of(directory: Path, setting: str = "") -> Address | None:
    """Return the address of a PostgreSQL store whose local files are in a directory, or None for a local store.

    Args:
        setting: An address from settings, which is returned if it leads to the same store.
    """
    for text in (setting, os.environ.get("ATLAS_STORE", "")):
        if is_address(text) and companion(text) == directory:
            return read_address(text)
    if directory in _opened:
        return _opened[directory]
    with suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
        return read_address(json.loads((directory / LABEL).read_text(encoding="utf-8"))["address"])
    return None
