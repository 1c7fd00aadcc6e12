"""The ledger's file as the disk has it: whether it is there, is the one that was opened, and is whole.

SQLite does not ask: it goes on with a file that was removed, into which writes are lost, and answers from memory what
it has read of one that was cut off.

Nothing here, or anywhere else in ATLAS, opens the file but SQLite: whoever closes a file drops all locks that the
process has on it (POSIX), those of SQLite too, and then another process may delete the journal under it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from atlas.core.errors import StoreError, StoreUnavailable
from atlas.infra.directories import gone
from atlas.storage.damage import damaged


class LedgerFile:
    """One file, from the time at which it was opened first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.was_opened = False
        """True once it was opened, so that it is not created again."""

        self._identity: tuple[int, int] | None = None
        """Device and number there. None while it is not open."""

        self._n_bytes = 0
        """Its size when it was looked at last."""

        self._is_suspect = False
        """True where it was smaller once, and was not checked since: what SQLite writes may make it as large again."""

    def problem(self) -> StoreError | None:
        """Return the error that says the opened file is not there any more, or None."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self._missing() if self.was_opened else None
        except OSError:  # SQLite will say what it may not do
            return None
        if self._identity not in (None, (status.st_dev, status.st_ino)):
            return StoreUnavailable(
                f"another file is at {self.path} than was there when the store was opened; nothing was written. Close "
                "the store and open it again"
            )
        return None

    def has_shrunk(self) -> bool:
        """Return whether it was smaller than before, as it was cut off, restored or vacuumed, since it was opened last.

        Raises:
            StoreUnavailable: It is gone, or another one is in its place.
            StoreDamaged: It alone is gone.
        """
        problem = self.problem()
        if problem is not None:
            raise problem
        if self._identity is None:
            return False
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
        is_short = not _has_journal(self.path) and status.st_size < _declared_bytes(connection)
        if self._is_suspect or is_short:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok" or not status.st_size:
                raise damaged(self.path, f"it ends before its last page: {found}")
        self.was_opened, self._identity, self._n_bytes = True, (status.st_dev, status.st_ino), status.st_size
        self._is_suspect = False

    def closed(self) -> None:
        """Take whatever file is there next as the one to open. Where there is none, it is still missed."""
        self._identity, self._n_bytes, self._is_suspect = None, 0, False

    def _missing(self) -> StoreError:
        if self.path.parent.is_dir():
            return damaged(self.path, "it is missing or empty, though the store was in use")
        return gone(self.path.parent, self.path)


def _has_journal(path: Path) -> bool:
    journal = path.with_name(f"{path.name}-wal")
    return journal.exists() and journal.stat().st_size > 0


def _declared_bytes(connection: sqlite3.Connection) -> int:
    """Return how large the file should be, as SQLite counts its pages."""
    (n_pages,), (page_size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    return int(n_pages) * int(page_size)
