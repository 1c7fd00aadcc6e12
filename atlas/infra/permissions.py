"""Permissions of files and directories: for their owner alone, and for a group where the directory is shared with one.

A directory is shared if its group may write into it, or if it has the set-group-ID bit. Then its files are for
the group, too, and never for others. Bits are only ever taken away from what is there. The process's umask is left
alone, as all threads have it in common.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_GROUP, _ALL_OTHERS = 0o070, 0o077


def file_mode(directory: Path) -> int:
    """Return the mode of a new file in a directory, less what the umask takes away."""
    return 0o600 | (_allowed(directory) & 0o060)


def directory_mode(parent: Path) -> int:
    """Return the mode of a new directory in another one, less what the umask takes away."""
    return 0o700 | _allowed(parent)


def temporary_path(path: Path) -> Path:
    """Return a path beside a file, for what is to take its place. Others cannot guess it."""
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(8)}")


def create_private(path: Path, *, mode: int = 0o600) -> None:
    """Create an empty file.

    Raises:
        FileExistsError: It is there.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))


def open_to_others(directory: Path, paths: Iterable[Path]) -> list[Path]:
    """Return the files, with those below them, whose permissions are wider than the directory's."""
    return [path for path, mode in _modes(paths) if mode & _ALL_OTHERS & ~_allowed(directory)]


def tighten(directory: Path, paths: Iterable[Path]) -> None:
    """Restrict permissions of files, and of what is below them, to those of their directory.

    What belongs to another user stays as it is.
    """
    allowed = _allowed(directory)
    for path, mode in list(_modes(paths)):
        if mode & _ALL_OTHERS & ~allowed:
            # It is not opened: closing a file of the ledger would drop the locks that SQLite has on it.
            with suppress(OSError, NotImplementedError):  # it is somebody else's, or a link by now
                path.chmod(mode & ~(_ALL_OTHERS & ~allowed), follow_symlinks=False)


def _allowed(directory: Path) -> int:
    """Return the bits that a directory's group may have."""
    mode = directory.stat().st_mode
    return _GROUP if mode & (stat.S_IWGRP | stat.S_ISGID) else 0


def _modes(paths: Iterable[Path]) -> Iterator[tuple[Path, int]]:
    """Yield files and directories with their modes, those below included. No link is followed."""
    for path in paths:
        with suppress(OSError):  # gone since it was listed, or not for us to look into
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                continue
            yield path, stat.S_IMODE(mode)
            if stat.S_ISDIR(mode):
                yield from _modes(path.iterdir())
