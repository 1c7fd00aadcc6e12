"""Search in an index, and in the records that changed after its last checkpoint (the tail)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import numpy as np

from atlas.core.types import Vector
from atlas.storage.engine import LedgerEngine
from atlas.storage.following_index import (
    FilteredIndex,
    FollowingIndex,
    IndexBehind,
    IndexCheckpoint,
    IndexUnreachable,
    IndexUnusable,
)
from atlas.storage.records import Position, Seqs
from atlas.storage.vectors.exact_search import exact_similarities
from atlas.storage.vectors.following import Follower, seq_of_key
from atlas.storage.vectors.in_memory import InMemoryVectors, Neighbours, rank_by_best_window

logger = logging.getLogger(__name__)

LOCK_SECONDS = 0.2
"""Time for which a query waits for a locked index before it falls back to exact search."""


class IndexedSearch:
    """Search in an index and its tail: newer records in memory, which replace the same records of the index."""

    def __init__(
        self, ledger: LedgerEngine, follower: Follower, index: FollowingIndex, dimension: int, longest_tail: int
    ) -> None:
        """Search an index.

        Args:
            longest_tail: Largest number of changes in the tail. With more, the index is not used.
        """
        self._ledger = ledger
        self._follower = follower
        self._index = index
        self._dimension = dimension
        self._longest_tail = longest_tail
        self._tail = InMemoryVectors(dimension)

    def query(self, vector: Vector, k: int, position: Position, only_seqs: Seqs | None = None) -> Neighbours | None:
        """Return the k nearest records, or None if the index cannot be used now.

        Args:
            only_seqs: The records that may be returned, or None for all. Only a `FilteredIndex` takes them.
        """
        if only_seqs is not None and not isinstance(self._index, FilteredIndex):
            return None
        if self._index.fault:  # the service is retried in the background
            return None
        for _ in range(2):
            try:
                return self._query_index_and_tail(vector, k, position, only_seqs)
            except IndexBehind:  # the next attempt uses an earlier checkpoint
                continue
            except IndexUnreachable as error:
                logger.info("the index is left out of a query: %s", error)
                return None
        return None

    def forget(self) -> None:
        """Drop the tail."""
        self._tail = InMemoryVectors(self._dimension)

    def _query_index_and_tail(
        self, vector: Vector, k: int, position: Position, only_seqs: Seqs | None
    ) -> Neighbours | None:
        """Return the k nearest records, or None if the index is too far behind, invalid, locked or damaged."""
        checkpoint = self._index.checkpoint()
        tail_length = position.revision - checkpoint.revision
        if tail_length > self._longest_tail or self._follower.checkpoint_problem(checkpoint, position):
            return None
        self._refresh_tail(checkpoint, position)
        with self._index.locked(LOCK_SECONDS, to_write=False) as is_locked:
            checkpoint = self._index.checkpoint()
            if (
                not is_locked
                or self._follower.checkpoint_problem(checkpoint, position)
                or checkpoint.revision < self._tail.start.revision
            ):
                return None  # another process is writing, has deleted or has rebuilt it
            try:
                hits = [*self._search_index(checkpoint, vector, k, only_seqs), *self._tail.query(vector, k, only_seqs)]
                return rank_by_best_window(hits, k)
            except IndexUnreachable:
                raise
            except IndexUnusable as error:
                logger.info("the index is out of use until it is built again: %s", error)
                self._index.clear()
                return None

    def _refresh_tail(self, checkpoint: IndexCheckpoint, position: Position) -> None:
        """Read the changes after the checkpoint.

        The tail may begin before the checkpoint, because its records replace the same records of the index.
        """
        start = self._tail.start
        n_earlier = checkpoint.revision - start.revision
        is_reusable = start.ledger_id == position.ledger_id and 0 <= n_earlier <= self._longest_tail
        start_revision = start.revision if is_reusable else checkpoint.revision
        self._follower.refresh(self._tail, position, start_revision=start_revision)

    def _search_index(self, checkpoint: IndexCheckpoint, vector: Vector, k: int, only_seqs: Seqs | None) -> Neighbours:
        """Return the k nearest records of the index that have not changed since the checkpoint."""
        n_hits = min(2 * k, self._index.max_hits)
        while True:
            if only_seqs is not None and isinstance(self._index, FilteredIndex):
                hits = self._index.query_subset(vector, n_hits, only_seqs)
            else:
                hits = self._index.query(vector, n_hits, checkpoint=checkpoint)
            neighbours = rank_by_best_window(self._drop_changed(hits, vector), k)
            if len(neighbours) == k or len(hits) < n_hits:
                return neighbours
            if n_hits == self._index.max_hits:
                raise IndexUnreachable(f"the index returns at most {n_hits} hits, too few for the best {k} records")
            # Some hits were windows of the same record, or records that have changed since.
            n_hits = min(4 * n_hits, self._index.max_hits)

    def _drop_changed(self, hits: Iterable[tuple[str, float]], vector: Vector) -> Iterable[tuple[int, float]]:
        """Return the record number and similarity of each hit whose record has not changed since the checkpoint."""
        similarities = [(seq_of_key(key), similarity) for key, similarity in hits]
        unchanged = [(seq, similarity) for seq, similarity in similarities if not self._tail.covers(seq)]
        if not self._index.is_remote:
            return unchanged
        seqs = np.unique(np.array([seq for seq, _ in unchanged], np.int64))
        return exact_similarities(self._ledger, vector, seqs).items()
