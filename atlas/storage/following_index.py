"""Vector indexes, which are derived from the ledger, and may lag behind it.

Examples are ChromaDB's files, PostgreSQL's HNSW index and services such as Pinecone. `VectorSearch` merges the hits of
an index with newer records, and rebuilds an index whose checkpoint does not match the ledger.
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
    """The index is missing, damaged or half written. Clear and rebuild it."""


class IndexUnreachable(IndexUnusable):
    """The index is unreachable, with no sign of damage. Search without the index, and keep it."""


class IndexBehind(IndexUnreachable):
    """The answer lacks writes up to the expected checkpoint. Retry with an earlier checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCheckpoint:
    """Checkpoint of an index: the ledger position that its last writer reached, and a digest of its files."""

    ledger_id: str = ""
    revision: int = 0
    files: str = ""
    """Digest of the index files, if any. Opening damaged files could crash the process."""

    n_keys: int = 0
    """Number of keys in the index, if counted."""

    change: int = 0
    """Number of the newest change in the ledger at that time."""

    change_name: str = ""
    """Unique name of that change. A restored ledger may reuse its number."""

    @property
    def is_valid(self) -> bool:
        """True if all fields are valid."""
        texts = (self.ledger_id, self.files, self.change_name)
        numbers = (self.revision, self.n_keys, self.change)
        return all(type(text) is str for text in texts) and all(
            type(number) is int and 0 <= number < 2**63 for number in numbers
        )


def parse_checkpoint(text: str) -> IndexCheckpoint:
    """Parse a checkpoint in JSON. Return an empty checkpoint if the text is malformed."""
    try:
        checkpoint = IndexCheckpoint(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return IndexCheckpoint()
    return checkpoint if checkpoint.is_valid else IndexCheckpoint()


class FollowingIndex(Protocol):
    """A vector index of one collection. Each key identifies a window of a record. Safe for concurrent processes."""

    @property
    def is_counted(self) -> bool:
        """True if the index may lose writes without an error. The writer then counts the keys before a checkpoint."""

    @property
    def is_open(self) -> bool:
        """True while files or connections are open."""

    @property
    def is_remote(self) -> bool:
        """True if the index is in a remote service.

        The index may be newer than a reader's snapshot of the ledger, so the reader computes the similarities of its
        hits again from the vectors in the ledger.
        """

    @property
    def is_resumable(self) -> bool:
        """True if a writer sets checkpoints at intermediate positions, so that an interrupted one can resume."""

    @property
    def max_hits(self) -> int:
        """Maximum number of hits of a query."""

    @property
    def fault(self) -> str:
        """The reason why the last use of the index failed, or empty if it succeeded or was not tried."""

    @property
    def is_retry_due(self) -> bool:
        """True if the index failed, and the backoff is over."""

    def locked(self, timeout_seconds: float = -1, *, to_write: bool = True) -> AbstractContextManager[bool]:
        """Lock the index for writing. Yields False after a timeout."""

    def checkpoint(self) -> IndexCheckpoint:
        """Return the latest checkpoint whose writes queries can see. Empty while a write is unfinished."""

    def writer_checkpoint(self) -> IndexCheckpoint:
        """Return the last writer's checkpoint, which is later than `checkpoint` until its writes are visible."""

    def begin(self, checkpoint: IndexCheckpoint, n_changes: int = 0) -> None:
        """Begin to write the changes after a checkpoint. The index has no valid checkpoint until `set_checkpoint`."""

    def set_checkpoint(
        self, ledger_id: str, revision: int, *, change: int = 0, change_name: str = "", n_keys: int | None = None
    ) -> None:
        """Finish writing, and record the position in the ledger."""

    def upsert(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Insert or replace vectors by key."""

    def remove(self, keys: Sequence[str]) -> None:
        """Remove vectors by key, ignoring unknown keys."""

    def query(self, vector: Vector, k: int, *, checkpoint: IndexCheckpoint | None = None) -> list[tuple[str, float]]:
        """Return at most k keys with their similarities, highest first.

        Args:
            checkpoint: The expected checkpoint, or None to skip the check.

        Raises:
            IndexUnusable: The index has another checkpoint.
        """

    def count(self) -> int:
        """Return the number of keys."""

    def clear(self) -> bool:
        """Delete all vectors, or return False if this process cannot."""

    def close(self) -> None:
        """Close files and connections."""


class LocalIndex:
    """Base class of indexes on the ledger's machine."""

    is_remote = is_resumable = is_retry_due = False
    max_hits = sys.maxsize
    fault = ""

    def checkpoint(self) -> IndexCheckpoint:
        """Return the checkpoint of the last writer."""
        raise NotImplementedError

    def writer_checkpoint(self) -> IndexCheckpoint:
        """Return `checkpoint`, because writes are visible immediately."""
        return self.checkpoint()


@runtime_checkable
class FilteredIndex(FollowingIndex, Protocol):
    """An index whose queries can be filtered."""

    def query_subset(self, vector: Vector, k: int, seqs: Seqs) -> list[tuple[str, float]]:
        """Return at most k keys of the given records with their similarities, highest first."""
