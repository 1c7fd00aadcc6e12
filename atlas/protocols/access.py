"""Where a store keeps who may enter it, and what happened to it: beside its ledger, one for all of its servers.

No export, copy or backup of memories carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

KEYS, PEOPLE, LINKS = "keys.json", "people.json", "links.json"
"""Names of the texts."""

AUDIT = "audit.jsonl"
"""Name of the file with the lines of the audit log."""


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text as it was read."""

    version: Hashable
    """Another one as soon as the text is replaced."""

    text: str


class AccessText(Protocol):
    """A text that many servers may read and replace at once. Its `str` is its place."""

    def read(self, seen: StoredText | None = None) -> StoredText | None:
        """Return the string as it is now, or None before the first one.

        Args:
            seen: The value read before, which is returned if the file was not replaced since.

        Raises:
            OSError: It cannot be read.
            StoreUnavailable: The server that has it cannot be reached.
        """

    def changing(self) -> AbstractContextManager[Callable[[str], None]]:
        """Yield a function that replaces the text, in a block that excludes all others."""


class AccessPlace(Protocol):
    """Where one store keeps them."""

    def text(self, name: str) -> AccessText:
        """Return the text of a name."""

    def add_line(self, line: str) -> None:
        """Add a line to the audit log. It outlasts a loss of power when this returns."""

    def lines(self) -> list[str]:
        """Return the lines of the audit log, the oldest first."""

    def last_purge(self) -> str:
        """Return the id of the last purge. Empty if a purge itself removes all copies of the store."""
