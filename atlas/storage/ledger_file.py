"""The ledger's file as the disk has it: whether it is there, is the one that was opened, and is whole.

SQLite does not ask: it goes on with a file that was removed, into which writes are lost, and answers from memory what
it has read of one that was cut off.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from atlas.core.errors import StoreDamaged, StoreError, StoreUnavailable
from atlas.infra.places import gone

_MAGIC = b"SQLite format 3\x00"


class LedgerFile:
    """One file, from the time at which it was opened first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None
        """Device and number there; None before it was opened."""

        self._n_bytes = 0
        """Its size when it was looked at last."""

        self._is_suspect = False
        """Whether it was smaller once, and was not checked since: what SQLite writes may make it as large again."""

    @property
    def was_opened(self) -> bool:
        """Whether it was opened, so that it is not created again."""
        return self._identity is not None

    def problem(self) -> StoreError | None:
        """That the file which was opened is not there any more, or None."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self._missing() if self.was_opened else None
        except OSError:  # SQLite will say what it may not do
            return None
        if self.was_opened and (status.st_dev, status.st_ino) != self._identity:
            return StoreUnavailable(
                f"another file is at {self.path} than was there when the store was opened; nothing was written. Close "
                "the store and open it anew"
            )
        return None

    def has_shrunk(self) -> bool:
        """Whether it was smaller than before, as it was cut off, restored or vacuumed, since it was opened last.

        Raises:
            StoreUnavailable: It is gone, or another one is in its place.
            StoreDamaged: It alone is gone.
        """
        if not self.was_opened:
            return False
        problem = self.problem()
        if problem is not None:
            raise problem
        n_bytes = self.path.stat().st_size
        self._is_suspect = self._is_suspect or n_bytes < self._n_bytes
        self._n_bytes = n_bytes
        return self._is_suspect

    def opened(self, connection: sqlite3.Connection) -> None:
        """Take the file as the one that was opened.

        Raises:
            StoreDamaged: It is smaller than it was, or should be, and SQLite misses something of it.
        """
        status = self.path.stat()
        if self._is_suspect or status.st_size < declared_bytes(self.path):
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok" or not status.st_size:
                raise damaged(self.path, f"it ends before its last page: {found}")
        self._identity, self._n_bytes = (status.st_dev, status.st_ino), status.st_size
        self._is_suspect = False

    def _missing(self) -> StoreError:
        if self.path.parent.is_dir():
            return damaged(self.path, "it is missing or empty, though the store was in use")
        return gone(self.path.parent, self.path)


def declared_bytes(path: Path) -> int:
    """How large a SQLite file says that it is, by its header; 0 where it has none."""
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(_MAGIC):
        return 0
    page_size = int.from_bytes(header[16:18], "big")
    return int.from_bytes(header[28:32], "big") * (65536 if page_size == 1 else page_size)


_LONGEST_FAULT = 200
"""Characters of what is wrong that an error repeats: SQLite quotes whole texts."""


def damaged(path: Path | None, what: str) -> StoreDamaged:
    """The error for a ledger that cannot be read, with what to do; without its path where only its rows are known."""
    return StoreDamaged(
        f"the ledger {f'{path} ' if path else ''}is damaged ({what[:_LONGEST_FAULT]}). Nothing was changed. Copy the "
        "whole directory somewhere safe first. Then restore a backup into a new directory (atlas --store NEW restore "
        f"FILE), or salvage what is readable with: sqlite3 {path or 'atlas.sqlite'} .recover"
    )
