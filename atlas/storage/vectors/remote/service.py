"""The protocol of a vector service, with the methods that an index needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from atlas.core.types import Vector, Vectors
from atlas.storage.following_index import IndexUnreachable

NO_POSITION = -1
"""The position before the first write."""

ALWAYS_VISIBLE = 2**62
"""The visible position of a service whose writes are visible immediately."""


MIN_SERVER_ERROR = 500
"""The lowest HTTP status for which the effect of a request is unknown."""


class NoAnswer(IndexUnreachable):
    """The service did not answer. The request may or may not take effect, even later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The service's answer to a query."""

    hits: list[tuple[str, float]]
    """Keys and similarities, highest first."""

    sees_up_to: int
    """The position of the last write that the answer includes. All earlier writes are included too."""


@runtime_checkable
class VectorService(Protocol):
    """Vectors in namespaces, under keys. A namespace is created once, filled, and deleted.

    Every method raises `NoAnswer` on a timeout, `IndexUnreachable` for an error or an invalid answer, and
    `IndexUnusable` if a namespace is missing or has other settings.

    Subclasses inherit the defaults of a service without limits.
    """

    @property
    def max_hits(self) -> int:
        """Maximum number of hits of a query."""
        return 1_000

    def max_written(self, dimension: int) -> int:
        """Return the maximum number of vectors of this dimension in one write."""
        return 1_000

    @property
    def max_removed(self) -> int:
        """Maximum number of keys in one removal."""
        return 1_000

    @property
    def sees_at_once(self) -> bool:
        """True if a write is visible as soon as it has returned, so that the number of keys can be checked."""
        return True

    @property
    def is_open(self) -> bool:
        """True while there are connections."""
        return True

    def make(self, namespace: str, dimension: int) -> None:
        """Create a namespace for vectors of this dimension."""

    def upsert(self, namespace: str, keys: Sequence[str], vectors: Vectors) -> int:
        """Store vectors under these keys, and return the position of the write. ATLAS passes at most `max_written`."""

    def remove(self, namespace: str, keys: Sequence[str]) -> None:
        """Remove keys, ignoring unknown keys. ATLAS passes at most `max_removed`."""

    def query(self, namespace: str, vector: Vector, k: int) -> Answer:
        """Return the keys of at most k nearest vectors. Approximate."""

    def count(self, namespace: str) -> int:
        """Return the number of keys in a namespace, or 0 if the namespace does not exist."""

    def drop(self, namespace: str) -> None:
        """Delete a namespace, if it exists."""

    def close(self) -> None:
        """Close the connections. The next use opens new ones."""
