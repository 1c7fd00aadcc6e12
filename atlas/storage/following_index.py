"""Indexes that follow the ledger: derived from it, behind it at times, and never believed alone.

ChromaDB's files, PostgreSQL's HNSW index and services such as Pinecone are some. `Nearest` merges what an index finds
with what it has not followed yet, and builds it again where its seal does not fit the ledger.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from atlas.core.types import Vector, Vectors
from atlas.storage.records import Seqs


class IndexUnusable(Exception):
    """The index is gone, damaged or half written. Clear it and follow the ledger from its start."""


class IndexUnreachable(IndexUnusable):
    """The index is out of reach for now, without a sign of damage. Do without it, and leave it."""


class IndexBehind(IndexUnreachable):
    """The answer lacks writes that the seal covers. An earlier seal may do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The note of the last writer: how far it had followed which ledger, and its files."""

    ledger_id: str = ""
    revision: int = 0
    files: str = ""
    """A digest over the files, if there are any. Opening other ones could crash the process."""

    n_keys: int = 0
    """How many keys it held, if they are counted."""

    change: int = 0
    """The newest change of the ledger then."""

    change_name: str = ""
    """A name that no other change of that number has, as a ledger that was put back may hold other records by now."""

    @property
    def is_sound(self) -> bool:
        """True if all fields are valid."""
        texts = (self.ledger_id, self.files, self.change_name)
        numbers = (self.revision, self.n_keys, self.change)
        return all(type(text) is str for text in texts) and all(
            type(number) is int and 0 <= number < 2**63 for number in numbers
        )


def read_seal(text: str) -> Seal:
    """Return the seal of a JSON text. An empty one if no writer leaves such a text."""
    try:
        seal = Seal(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return Seal()
    return seal if seal.is_sound else Seal()


class FollowingIndex(Protocol):
    """One collection's vectors in an index, by keys that name a record and its window. Safe for many processes."""

    @property
    def is_counted(self) -> bool:
        """True where a write may go astray without an error, so that its keys are counted before it is sealed."""

    @property
    def is_open(self) -> bool:
        """True while it holds files or connections open."""

    @property
    def is_remote(self) -> bool:
        """True where a service keeps it.

        It may have followed more than a reader sees of the ledger, so its hits are compared again there.
        """

    @property
    def is_resumable(self) -> bool:
        """True where parts of the way are sealed too, so that whoever is stopped goes on from there."""

    @property
    def most_hits(self) -> int:
        """The most hits of a query."""

    @property
    def fault(self) -> str:
        """The reason why it could not be asked or written last. Empty if it could, or was not tried."""

    @property
    def is_due(self) -> bool:
        """True where it failed, and has been left alone for long enough."""

    def locked(self, timeout_seconds: float = -1, *, to_write: bool = True) -> AbstractContextManager[bool]:
        """Keep others from writing it. Gives False if another process kept it for longer than the timeout."""

    def seal(self) -> Seal:
        """Return the seal that queries may rely on, from the last writer. Empty if its write is unfinished."""

    def written(self) -> Seal:
        """Return the seal at which a writer continues. It is later than `seal` while writes are not visible yet."""

    def begin(self, seal: Seal, n_changes: int = 0) -> None:
        """Begin writing after a seal."""

    def set_seal(
        self, ledger_id: str, revision: int, *, change: int = 0, change_name: str = "", n_keys: int | None = None
    ) -> None:
        """Finish writing, and record the position in the ledger that it has followed."""

    def upsert(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Write vectors under these keys, in place of the present ones."""

    def remove(self, keys: Sequence[str]) -> None:
        """Remove the vectors of these keys. Unknown ones are ignored."""

    def query(self, vector: Vector, k: int, *, seal: Seal | None = None) -> list[tuple[str, float]]:
        """Return at most k keys with their similarity, highest first, if this is its seal."""

    def count(self) -> int:
        """Return how many keys it holds."""

    def clear(self) -> bool:
        """Forget everything. Return False if that cannot be done in this process."""

    def close(self) -> None:
        """Close files and connections."""


class LocalIndex:
    """The parts of the protocol that are the same in every index that is as near as the ledger."""

    is_remote = is_resumable = is_due = False
    most_hits = sys.maxsize
    fault = ""

    def seal(self) -> Seal:
        """Return the seal of the last writer."""
        raise NotImplementedError

    def written(self) -> Seal:
        """Return the seal at which a writer continues: all writes are visible."""
        return self.seal()


@runtime_checkable
class FilteredIndex(FollowingIndex, Protocol):
    """An index whose queries can be narrowed."""

    def query_among(self, vector: Vector, k: int, seqs: Seqs) -> list[tuple[str, float]]:
        """Return at most k keys of these records, with their similarity, highest first."""
