"""Named values in one JSON text, such as the API keys of a store."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from atlas.core.errors import AtlasError, StoreUnavailable
from atlas.protocols.access import AccessText, StoredText
from atlas.storage.location.access import access_storage

T = TypeVar("T")


_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""Exceptions that decoding a damaged text may raise."""


class DamagedText(ValueError):
    """Cause of a `StoreUnavailable` that persists until a damaged text is repaired."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.name = name
        """Name of the text, without its directory."""


@dataclass(slots=True)
class AccessValues(Generic[T]):
    """Named values, shared by all servers of a store. Each read returns the latest values."""

    directory: Path
    """The store's directory, or the local directory of a store in a database."""

    name: str
    """Name of the text with the values."""

    encode: Callable[[T], dict[str, Any]]
    decode: Callable[[dict[str, Any]], T]
    _thread_lock: threading.Lock = field(default_factory=threading.Lock)
    _last_text: StoredText | None = None
    """The last text that was read, whose values are cached."""

    _last_values: dict[str, T] = field(default_factory=dict)

    def read(self) -> dict[str, T]:
        """Return the current values, keyed by name. Empty before the first write.

        Raises:
            StoreUnavailable: The store is out of reach, or the text is damaged. The cause is then a `DamagedText`.
        """
        text = self._text()
        last_text, values = self._last_text, self._last_values
        try:
            with _translate_errors(text):
                stored = text.read(last_text)
            if stored is None:
                return {}
            if stored is not last_text:
                values = {name: self.decode(value) for name, value in json.loads(stored.text).items()}
                self._last_text, self._last_values = stored, values
            return dict(values)
        except _DAMAGE as error:
            raise StoreUnavailable(
                f"{text} cannot be read ({error}), so all access is refused; repair or remove it"
            ) from DamagedText(self.name, str(error))

    @contextmanager
    def edit(self) -> Iterator[dict[str, T]]:
        """Yield the values under a lock, and save changes unless the block raises."""
        with self._thread_lock, _translate_errors(text := self._text()), text.edit() as replace:
            values = self.read()
            yield values
            encoded = {name: self.encode(value) for name, value in values.items()}
            replace(json.dumps(encoded, indent=1, ensure_ascii=False))

    def _text(self) -> AccessText:
        return access_storage(self.directory).text(self.name)


@contextmanager
def _translate_errors(text: AccessText) -> Iterator[None]:
    """Raise `StoreUnavailable` if a text cannot be reached. The text itself may be intact."""
    try:
        yield
    except AtlasError:  # some of them are an OSError too
        raise
    except OSError as error:
        raise StoreUnavailable(
            f"{text} cannot be reached now ({error.strerror or error}), so all access is refused; check its disk "
            "and its permissions, and try again"
        ) from error
