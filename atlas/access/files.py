"""Files beside a store that say who may do what. Only their owner reads them, and no export or backup carries them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from atlas.core.errors import StoreUnavailable
from atlas.infra.durable_files import replace_durably
from atlas.infra.fork_safety import InterProcessLock

T = TypeVar("T")


@dataclass(slots=True)
class AccessFile(Generic[T]):
    """Values by name in a file of JSON, which many processes may read and change at once. Each sees the latest."""

    path: Path
    """Nothing is written there before the first change."""

    encode: Callable[[T], dict[str, Any]]
    decode: Callable[[dict[str, Any]], T]
    _threads: threading.Lock = field(default_factory=threading.Lock)
    _seen: tuple[tuple[int, int, int], dict[str, T]] | None = None
    """The file's number, time and size when it was read last, with what it said."""

    def read(self) -> dict[str, T]:
        """Return what the file says now, and nothing where there is none.

        Raises:
            StoreUnavailable: It cannot be read, so nobody is let in.
        """
        try:
            status = self.path.stat()
            version, seen = (status.st_ino, status.st_mtime_ns, status.st_size), self._seen
            if seen is None or seen[0] != version:  # it is replaced as a whole, so it has another number then
                held = json.loads(self.path.read_text(encoding="utf-8"))
                self._seen = seen = version, {name: self.decode(value) for name, value in held.items()}
            return dict(seen[1])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreUnavailable(
                f"{self.path} cannot be read ({error}), so nobody is let in; mend it, or remove it and begin again"
            ) from error

    @contextmanager
    def changing(self) -> Iterator[dict[str, T]]:
        """Yield what the file says, and write it where the block ends without an error. Others wait meanwhile."""
        with self._threads, InterProcessLock(self.path.with_name(f"{self.path.name}.lock")).held():
            held = self.read()
            yield held
            encoded = {name: self.encode(value) for name, value in held.items()}
            replace_durably(self.path, json.dumps(encoded, indent=1, ensure_ascii=False), mode=0o600)
