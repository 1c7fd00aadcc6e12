"""Atomic and durable writes of files."""

from __future__ import annotations

import os
from pathlib import Path

from atlas.infra.permissions import file_mode, temporary_path


def replace_durably(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replace or create a file atomically and durably, through a temporary file that is flushed to disk.

    Args:
        mode: Permissions of the file, reduced by the umask. By default those of the directory's files.
    """
    _replace(path, text, mode=mode, is_durable=True)
    _sync_directory(path.parent)


def replace_atomically(path: Path, text: str) -> None:
    """Replace or create a file atomically, but not durably: a power failure may leave it empty."""
    _replace(path, text, mode=None, is_durable=False)


def _replace(path: Path, text: str, *, mode: int | None, is_durable: bool) -> None:
    """Replace or create a file atomically, through a temporary file."""
    mode = file_mode(path.parent) if mode is None else mode
    temporary = temporary_path(path)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)  # O_EXCL does not follow links
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def append_durably(path: Path, text: str, *, mode: int | None = None) -> None:
    """Append a string to a file, which is created if missing, and flush it to disk.

    A crash may leave a part of the string. The next call first terminates such an incomplete line.

    Args:
        mode: The permissions of a new file, reduced by the umask. By default those of the directory's files.
    """
    mode = file_mode(path.parent) if mode is None else mode
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode)
    with os.fdopen(descriptor, "rb+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        has_open_line = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
        remaining = memoryview((b"\n" if has_open_line else b"") + text.encode("utf-8"))
        while remaining:
            remaining = remaining[file.write(remaining) :]
        os.fsync(file.fileno())
    if is_new:
        _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Flush the entries of a directory to disk, so that a new file survives a power failure."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
