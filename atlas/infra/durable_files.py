"""Files that are replaced as a whole or not at all, and that outlast a loss of power."""

from __future__ import annotations

import os
from pathlib import Path

from atlas.infra.permissions import file_mode, temporary_path


def replace_durably(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replace a file, or create it: the text is written beside it, flushed to the disk, and then renamed.

    Args:
        mode: The permissions of the file, less those that the process's umask takes away. None for those of the files
            of its directory.
    """
    _replace(path, text, mode=mode, is_durable=True)
    _sync_directory(path.parent)


def replace_whole(path: Path, text: str) -> None:
    """Replace a file, or create it, without waiting for the disk: a loss of power may leave it empty."""
    _replace(path, text, mode=None, is_durable=False)


def _replace(path: Path, text: str, *, mode: int | None, is_durable: bool) -> None:
    mode = file_mode(path.parent) if mode is None else mode
    beside = temporary_path(path)
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)  # follows no link
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def append_durably(path: Path, text: str, *, mode: int | None = None) -> None:
    """Add a string to the end of a file, which is created if missing, and write it to disk.

    A crash may leave a part of the text. The next call ends such an incomplete line first.

    Args:
        mode: The permissions of a new file, reduced by the umask. None for those of its directory's files.
    """
    mode = file_mode(path.parent) if mode is None else mode
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode)
    with os.fdopen(descriptor, "rb+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        is_cut = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
        remaining = memoryview((b"\n" if is_cut else b"") + text.encode("utf-8"))
        while remaining:
            remaining = remaining[file.write(remaining) :]
        os.fsync(file.fileno())
    if is_new:
        _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
