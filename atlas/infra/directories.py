"""Directories that existed when they were opened, and may be gone since."""

from __future__ import annotations

from pathlib import Path

from atlas.core.errors import StoreUnavailable
from atlas.infra.permissions import directory_mode


def store_removed(directory: Path, file: Path) -> StoreUnavailable:
    """Return the error for a store that was removed or moved while it was in use."""
    return StoreUnavailable(
        f"the store {directory} is gone: {file.name} belongs there, but the directory was removed or moved since it "
        "was opened; nothing was written. Put it back, or open the store where it is now"
    )


def make_directory_in(parent: Path, *names: str) -> Path:
    """Return a directory below one that has to be there, made if it is missing.

    Raises:
        StoreUnavailable: The one that has to be there is gone.
    """
    directory = parent
    for name in names:
        directory = directory / name
        try:
            directory.mkdir(mode=directory_mode(directory.parent), exist_ok=True)
        except FileNotFoundError as error:
            raise store_removed(parent, directory) from error
    return directory
