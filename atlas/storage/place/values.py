"""Values by name that say who may do what, in a text of JSON."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from atlas.core.errors import StoreUnavailable
from atlas.protocols.access import AccessText, Kept
from atlas.storage.place.access import access_place

T = TypeVar("T")


@dataclass(slots=True)
class AccessValues(Generic[T]):
    """Values by name, which many servers may read and change at once. Each sees the latest."""

    directory: Path
    """The store's, or that with its files of this machine."""

    name: str
    """Name of the text that has them."""

    encode: Callable[[T], dict[str, Any]]
    decode: Callable[[dict[str, Any]], T]
    _threads: threading.Lock = field(default_factory=threading.Lock)
    _seen: tuple[Kept, dict[str, T]] | None = None
    """The text as it was read last, with what it said."""

    def read(self) -> dict[str, T]:
        """Return what is said now, and nothing where nothing is.

        Raises:
            StoreUnavailable: It cannot be read, so nobody is let in.
        """
        text, seen = self._text(), self._seen
        try:
            kept = text.read(seen[0] if seen else None)
            if kept is None:
                return {}
            if seen is None or kept is not seen[0]:
                self._seen = seen = kept, {name: self.decode(value) for name, value in json.loads(kept.text).items()}
            return dict(seen[1])
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreUnavailable(
                f"{text} cannot be read ({error}), so nobody is let in; mend it, or remove it and begin again"
            ) from error

    @contextmanager
    def changing(self) -> Iterator[dict[str, T]]:
        """Yield what is said, and keep it where the block ends without an error. Others wait meanwhile."""
        with self._threads, self._text().changing() as replace:
            held = self.read()
            yield held
            encoded = {name: self.encode(value) for name, value in held.items()}
            replace(json.dumps(encoded, indent=1, ensure_ascii=False))

    def _text(self) -> AccessText:
        return access_place(self.directory).text(self.name)
