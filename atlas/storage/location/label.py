"""The label of a store's directory, with the address of the store if it is in PostgreSQL."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from atlas.core.address import Address, is_address, local_directory, read_address

LABEL = "store.json"

_opened_addresses: dict[Path, Address] = {}
"""Addresses that this process has opened, keyed by directory. Unlike those in labels, they may have passwords."""


def cache_address(directory: Path, address: Address) -> None:
    """Remember, in this process, the address of the PostgreSQL store whose local files are in a directory."""
    _opened_addresses[directory] = address


def find_address(directory: Path, setting: str = "") -> Address | None:
    """Return the address of a PostgreSQL store whose local files are in a directory, or None for a local store.

    Args:
        setting: An address from the settings, which is returned if its local files are in this directory.
    """
    for text in (setting, os.environ.get("ATLAS_STORE", "")):
        if is_address(text) and local_directory(text) == directory:
            return read_address(text)
    if directory in _opened_addresses:
        return _opened_addresses[directory]
    with suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
        return read_address(json.loads((directory / LABEL).read_text(encoding="utf-8"))["address"])
    return None
