"""Access rights and the audit log of a store, in files that the directory's owner and group can read."""

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
    """A text in a file, readable by its owner, and by the group if the directory is shared."""

    path: Path

    def __str__(self) -> str:
        """Return the file's path."""
        return str(self.path)

    def read(self, previous: StoredText | None = None) -> StoredText | None:
        """Return the current text, or None if the file is missing. Without a change, return the text `previous`."""
        try:
            status = self.path.stat()
            # a new version is a new file with a new inode
            version = (status.st_ino, status.st_mtime_ns, status.st_size)
            if previous is not None and previous.version == version:
                return previous
            return StoredText(version, self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    @contextmanager
    def edit(self) -> Iterator[Callable[[str], None]]:
        """Yield a function that replaces the text, while the file is locked."""
        with InterProcessLock(self.path.with_name(f"{self.path.name}.lock")).locked():
            yield lambda text: replace_durably(self.path, text)


@dataclass(frozen=True, slots=True)
class AccessDirectory:
    """The files of a store directory. The files are created at the first change."""

    directory: Path

    def text(self, name: str) -> AccessFile:
        """Return the access file with a name, which may not exist yet."""
        return AccessFile(self.directory / name)

    def add_audit_line(self, line: str) -> None:
        """Append a line to the audit log durably."""
        with InterProcessLock(self.directory / f"{AUDIT}.lock").locked():
            append_durably(self.directory / AUDIT, line + "\n")

    def lines(self) -> list[str]:
        """Return the lines of the audit log, oldest first."""
        path = self.directory / AUDIT
        try:
            return path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be read ({error}); check its permissions") from error

    def last_purge(self) -> str:
        """Return an empty string, because a purge itself removes all copies of a store in a directory."""
        return ""
