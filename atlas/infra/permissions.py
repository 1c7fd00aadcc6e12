"""Permissions of files and directories: private, or shared with a group.

A directory is shared if it is group-writable or has the set-group-ID bit. Then its files are accessible to the group
too, but never to others. Permissions of existing files are only ever reduced. The umask is not changed, because all
threads share it.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_GROUP_BITS, _NON_OWNER_BITS = 0o070, 0o077


def file_mode(directory: Path) -> int:
    """Return the mode for a new file in a directory, before the umask."""
    return 0o600 | (_allowed_bits(directory) & 0o060)


def directory_mode(parent: Path) -> int:
    """Return the mode for a new directory in another one, before the umask."""
    return 0o700 | _allowed_bits(parent)


def temporary_path(path: Path) -> Path:
    """Return an unguessable path in a file's directory, for its replacement."""
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(8)}")


def create_private(path: Path, *, mode: int = 0o600) -> None:
    """Create an empty file.

    Raises:
        FileExistsError: The file exists already.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))


def files_open_to_others(directory: Path, paths: Iterable[Path]) -> list[Path]:
    """Return the files in a directory, recursively, that have wider permissions than the directory."""
    forbidden_bits = _NON_OWNER_BITS & ~_allowed_bits(directory)
    return [path for path, mode in _walk_modes(paths) if mode & forbidden_bits]


def restrict_permissions(directory: Path, paths: Iterable[Path]) -> None:
    """Restrict files, recursively, to the permissions of their directory. Files of other users are not changed."""
    forbidden_bits = _NON_OWNER_BITS & ~_allowed_bits(directory)
    for path, mode in list(_walk_modes(paths)):
        if mode & forbidden_bits:
            # Not opened: closing a file of the ledger would drop SQLite's locks on it.
            with suppress(OSError, NotImplementedError):  # another user's file, or a link by now
                path.chmod(mode & ~forbidden_bits, follow_symlinks=False)


def _allowed_bits(directory: Path) -> int:
    """Return the permission bits that files in a directory may have for its group and others."""
    mode = directory.stat().st_mode
    return _GROUP_BITS if mode & (stat.S_IWGRP | stat.S_ISGID) else 0


def _walk_modes(paths: Iterable[Path]) -> Iterator[tuple[Path, int]]:
    """Yield files and directories with their modes, recursively, without following links."""
    for path in paths:
        with suppress(OSError):  # removed since it was listed, or not accessible
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                continue
            yield path, stat.S_IMODE(mode)
            if stat.S_ISDIR(mode):
                yield from _walk_modes(path.iterdir())
