"""The working directory of a program, measured while it runs, and removed afterwards."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from atlas.learning.sandbox.confinement import MEGABYTE

MIN_FILE_BYTES = 4_096
"""Smallest size that is counted for a file or directory, so that the number of files is limited too."""

MEASURE_SECONDS = 0.05
"""Time between two measurements. A program may exceed its limit for this long."""


class WorkingDirectory:
    """The working directory of one program."""

    def __init__(self, megabytes: int) -> None:
        """Make the directory in the working directory of this process.

        Args:
            megabytes: Total size of files at which the directory counts as full.
        """
        self.path = tempfile.mkdtemp(dir=Path.cwd())
        self._max_bytes = megabytes * MEGABYTE
        self._is_full = False
        self._next_measurement = 0.0

    def is_full(self) -> bool:
        """Measure the directory. Return whether its files exceed the limit, or have ever exceeded it."""
        self._is_full = self._is_full or _exceeds_size(self.path, self._max_bytes)
        return self._is_full

    def is_full_throttled(self) -> bool:
        """Return the result of `is_full`, but measure at most every `MEASURE_SECONDS`."""
        if time.monotonic() >= self._next_measurement:
            self.is_full()
            self._next_measurement = time.monotonic() + MEASURE_SECONDS
        return self._is_full

    def remove(self) -> None:
        """Remove the directory. Call it only after the program has ended."""
        clear_directory(self.path)
        with suppress(OSError):
            os.rmdir(self.path)  # noqa: PTH106


def clear_directory(directory: str) -> None:
    """Remove the content of a directory, as far as the system permits.

    The content of nested directories is moved up first, because their paths may be longer than the system permits.
    """
    with suppress(OSError):
        while entries := list(os.scandir(directory)):
            for entry in entries:
                _remove_entry(entry, directory)


def _remove_entry(entry: os.DirEntry[str], directory: str) -> None:
    """Remove a file, or a directory whose content is moved up."""
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry.path)  # noqa: PTH108
        return
    os.chmod(entry.path, 0o700)  # noqa: PTH101 - the program may have removed the permission to list it
    for inner in list(os.scandir(entry.path)):
        os.rename(inner.path, os.path.join(directory, os.urandom(16).hex()))  # noqa: PTH104, PTH118
    os.rmdir(entry.path)  # noqa: PTH106


def _exceeds_size(directory: str, max_bytes: int) -> bool:
    """Return whether the total size of a directory's files exceeds a limit. True if it cannot be measured."""
    directories, n_bytes = [directory], 0
    while directories:
        try:
            with os.scandir(directories.pop()) as entries:
                for entry in entries:
                    n_bytes += max(entry.stat(follow_symlinks=False).st_size, MIN_FILE_BYTES)
                    if n_bytes > max_bytes:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):  # the program has removed it
            continue
        except OSError:  # nested too deeply, or unreadable
            return True
    return False
