"""Directories that may have been removed since they were opened."""

from __future__ import annotations

from pathlib import Path

from atlas.core.errors import StoreUnavailable
from atlas.infra.permissions import directory_mode


def store_removed_error(directory: Path, file: Path) -> StoreUnavailable:
    """Return the error for a store that was removed or moved while it was in use."""
    return StoreUnavailable(
        f"the store {directory} has been removed or moved since it was opened, so {file.name} was not written; restore "
        "the directory, or open the store at its new path"
    )


def make_directory_in(parent: Path, *names: str) -> Path:
    """Create a directory in an existing one if it is missing, and return it.

    Raises:
        StoreUnavailable: The parent does not exist.
    """
    directory = parent
    for name in names:
        directory = directory / name
        try:
            directory.mkdir(mode=directory_mode(directory.parent), exist_ok=True)
        except FileNotFoundError as error:
            raise store_removed_error(parent, directory) from error
    return directory
