"""Names of domains as one JSON text: a file in a store's directory, or a note in a ledger on a server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from atlas.core.errors import PlanOutdated, ReadOnlyStore, StoreUnavailable
from atlas.core.types import new_id
from atlas.infra.fork_safety import InterProcessLock
from atlas.infra.permissions import create_private, file_mode, temporary_path
from atlas.storage.engine import DOMAIN_NAMES, DOMAIN_NAMES_STATE, Notes
from atlas.storage.store import Store

NAMES = "domain_names.json"
"""Name of the file, in a store's directory and in a backup."""

DAMAGED_SUFFIX = ".damaged"

Change = Callable[[bytes | None], bytes | None]


class NamesText(Protocol):
    """The names of a store's domains as a JSON text, which `atlas.maps.labels` decodes."""

    def read(self) -> bytes | None:
        """Return the text, or None if there are no names."""

    def change_token(self) -> str:
        """Return a string that differs after every change."""

    def change(self, change: Change) -> None:
        """Apply a function to the text under a lock. A result of None removes the text."""

    def set_aside(self) -> None:
        """Rename a damaged text, so that its names are not lost."""


def names_text(store: Store) -> NamesText:
    """Return access to the names of a store's domains, in a file or in the ledger."""
    return NamesFile(store.path) if store.ledger.is_file else NamesNote(store.ledger.notes, store.path)


class NamesFile:
    """The names of domains as a file in the store's directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAMES

    def read(self) -> bytes | None:
        """Return the text, or None if none was written yet."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def change_token(self) -> str:
        """Return the time at which the text was written."""
        return str(self.path.stat().st_mtime_ns if self.path.exists() else 0)

    def change(self, change: Change) -> None:
        """Apply a function to the text, and replace the text by the result.

        Raises:
            StoreUnavailable: The text cannot be written; the store was not changed.
        """
        temporary = temporary_path(self.path)
        try:
            with InterProcessLock(self.path.with_name("domain_names.lock")).locked():
                text = change(self.read())
                if text is None:
                    self.path.unlink(missing_ok=True)
                else:
                    create_private(temporary, mode=file_mode(temporary.parent))
                    temporary.write_bytes(text)
                    temporary.replace(self.path)
        except StoreUnavailable:
            raise
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise StoreUnavailable(
                f"{self.path} cannot be written ({error.strerror}); no name was changed. Check its permissions"
            ) from error

    def set_aside(self) -> None:
        """Rename the file, so that the names are not lost."""
        self.path.replace(self.path.with_name(NAMES + DAMAGED_SUFFIX))


class NamesNote:
    """The names of domains as a note in the ledger, shared by all servers of the store.

    Args:
        directory: The store's files on this machine, from which names of earlier versions are migrated.
    """

    def __init__(self, notes: Notes, directory: Path) -> None:
        self._notes = notes
        self._former_file = NamesFile(directory)

    def read(self) -> bytes | None:
        """Return the text, or None if none was written yet."""
        text = self._read_text()
        if text is None and self._former_file.path.exists():
            with suppress(ReadOnlyStore):
                self._migrate_file()
            text = self._read_text()
        return None if text is None else text.encode()

    def change_token(self) -> str:
        """Return a random string that each change replaces."""
        return self._notes.read(DOMAIN_NAMES_STATE).get("", "")

    def change(self, change: Change) -> None:
        """Apply a function to the text, and retry after a concurrent change by another server."""
        while True:
            current = self.read()
            text = change(current)
            try:
                self._write(None if current is None else current.decode(), text)
            except PlanOutdated:
                continue
            return

    def set_aside(self) -> None:
        """Copy the names to a second note, so that they are not lost."""
        self._notes.write({DOMAIN_NAMES + DAMAGED_SUFFIX: self._read_text()})

    def _read_text(self) -> str | None:
        return self._notes.read(DOMAIN_NAMES).get("")

    def _write(self, expected_text: str | None, text: bytes | None) -> None:
        """Replace the text, or raise `PlanOutdated` if the current text is not the expected one."""
        token = self._notes.read(DOMAIN_NAMES_STATE).get("")
        new_text = None if text is None else text.decode("utf-8", "replace").replace("\0", "")
        self._notes.write(
            {DOMAIN_NAMES: new_text, DOMAIN_NAMES_STATE: new_id()},
            expected={DOMAIN_NAMES: expected_text, DOMAIN_NAMES_STATE: token},
        )

    def _migrate_file(self) -> None:
        """Move the names from a file of an earlier version into the ledger, unless the ledger has names already."""
        with suppress(PlanOutdated):  # another machine has given its own
            self._write(None, self._former_file.read())
        with suppress(FileNotFoundError):  # another process of this machine has done the same
            self._former_file.path.replace(self._former_file.path.with_name(f"{NAMES}.before-sharing"))
