"""Storage of access rights and the audit log.

Both belong to a store but not to its ledger, and are shared by all servers of the store. Exports, copies and backups
of memories do not contain them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

KEYS, PEOPLE, LINKS = "keys.json", "people.json", "links.json"
"""Names of the texts with API keys, people, and links for guests."""

AUDIT = "audit.jsonl"
"""Name of the file with the lines of the audit log."""


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text with its version."""

    version: Hashable
    """Opaque value that changes whenever the text is replaced."""

    text: str


class AccessText(Protocol):
    """A text that several servers may read and replace concurrently. `str()` returns its location."""

    def read(self, previous: StoredText | None = None) -> StoredText | None:
        """Return the current text, or None if there is none yet.

        Args:
            previous: The result of an earlier call, which is returned again if the text has not changed since.

        Raises:
            OSError: The text cannot be read.
            StoreUnavailable: The database server cannot be reached.
        """

    def edit(self) -> AbstractContextManager[Callable[[str], None]]:
        """Yield a function that replaces the text, under an exclusive lock."""


class AccessStorage(Protocol):
    """The access rights and the audit log of one store."""

    def text(self, name: str) -> AccessText:
        """Return the text with a name."""

    def add_audit_line(self, line: str) -> None:
        """Append a line to the audit log durably."""

    def lines(self) -> list[str]:
        """Return the lines of the audit log, oldest first."""

    def last_purge(self) -> str:
        """Return the id of the last purge, or an empty string if a purge itself removes all copies."""
