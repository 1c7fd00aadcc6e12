"""Access rights and the audit log of a store in a directory, in files for its owner and its group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from atlas.core.errors import StoreUnavailable
from atlas.infra.durable_files import append_durably, replace_durably
from atlas.infra.fork_safety import InterProcessLock
from atlas.protocols.access import AUDIT, StoredText


@dataclass(frozen=True, slots=True)
class AccessFile:
    """A text in a file, which is read by its owner, and by the group of a directory that is shared with one."""

    path: Path

    def __str__(self) -> str:
        """Return the file's path."""
        return str(self.path)

    def read(self, seen: StoredText | None = None) -> StoredText | None:
        """Return the current file, or None if it is missing."""
        try:
            status = self.path.stat()
            version = status.st_ino, status.st_mtime_ns, status.st_size  # replaced as a whole, it has another number
            if seen is not None and seen.version == version:
                return seen
            return StoredText(version, self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    @contextmanager
    def changing(self) -> Iterator[Callable[[str], None]]:
        """Yield a function that replaces the text, while the file is locked."""
        with InterProcessLock(self.path.with_name(f"{self.path.name}.lock")).locked():
            yield lambda text: replace_durably(self.path, text)


@dataclass(frozen=True, slots=True)
class AccessDirectory:
    """The files of a store that is a directory. Nothing is written there before the first change."""

    directory: Path

    def text(self, name: str) -> AccessFile:
        """Return the text of a name."""
        return AccessFile(self.directory / name)

    def add_line(self, line: str) -> None:
        """Add a line to the audit log. It outlasts a loss of power when this returns."""
        with InterProcessLock(self.directory / f"{AUDIT}.lock").locked():
            append_durably(self.directory / AUDIT, line + "\n")

    def lines(self) -> list[str]:
        """Return the lines of the audit log, the oldest first."""
        path = self.directory / AUDIT
        try:
            return path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be read ({error}); check its permissions") from error

    def last_purge(self) -> str:
        """Return an empty list: a purge removes the copies, which lie in the same directory."""
        return ""
