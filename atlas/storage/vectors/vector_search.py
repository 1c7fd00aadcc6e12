"""Nearest-neighbour search in a collection.

A query on a small collection compares all vectors in memory. A larger collection has an index: pgvector, ChromaDB's
files, or a service. Records that changed after the index's last checkpoint are in the *tail*, which replaces the
index's version of them. A process with many queries reads the vectors of a larger collection into memory too, because
exact search in memory is faster. A filtered query compares all records that pass, unless the index itself can filter.

Before each query, memory reads the ledger's changes since the last query. So every process finds a record once its
write has returned.
"""

from __future__ import annotations

import threading

from atlas.core.types import Vector
from atlas.infra import fork_safety
from atlas.storage.engine import LedgerEngine
from atlas.storage.following_index import FollowingIndex
from atlas.storage.records import Position, Seqs, model_mismatch
from atlas.storage.vectors.exact_search import ExactSearch
from atlas.storage.vectors.following import Follower
from atlas.storage.vectors.in_memory import Neighbours
from atlas.storage.vectors.indexed_search import LOCK_SECONDS, IndexedSearch
from atlas.storage.vectors.updater import OUTAGE_MESSAGE, IndexUpdater
from atlas.storage.vectors.vector_count import VectorCount

MAX_COMPARED = 1_000
"""Maximum number of records that a filtered query compares without the index."""


class VectorSearch:
    """Nearest-neighbour queries over one collection of a ledger."""

    def __init__(
        self,
        ledger: LedgerEngine,
        collection: str,
        index: FollowingIndex | None,
        *,
        model: tuple[str, int],
        exact_max_rows: int,
    ) -> None:
        follower, count = Follower(ledger, collection), VectorCount(ledger, collection)
        self.index = index
        self.exact = ExactSearch(ledger, follower, count, model[1], exact_max_rows)
        self.indexed = IndexedSearch(ledger, follower, index, model[1], exact_max_rows) if index is not None else None
        self.updater = IndexUpdater(collection, index, follower, count, exact_max_rows)
        self._ledger = ledger
        self._collection = collection
        self._model = model
        self._count = count
        self._exact_max_rows = exact_max_rows
        self._lock = threading.RLock()
        self._is_locked_for_fork = False
        """True if the lock was acquired for a fork, because no query was running."""

        fork_safety.register(self)

    def query(self, vector: Vector, k: int) -> Neighbours:
        """Return the k records whose best window is nearest to a vector.

        Raises:
            EmbeddingModelMismatch: The store was bound to another model after this object was created.
        """
        if k <= 0:
            return []
        with self._lock, self._ledger.reading():  # one snapshot for model and vectors
            position = self._prepare_query()
            k = min(k, position.revision)  # the number of records is at most the revision
            if (hits := self._query_index(vector, k, position)) is None:
                return self.exact.query(vector, k, position)
            self.exact.count_index_query(position)
            return hits

    def query_subset(self, vector: Vector, k: int, seqs: Seqs) -> Neighbours:
        """Return the k nearest of these records. The result is exact, unless they are many and the index can filter.

        Raises:
            EmbeddingModelMismatch: The store was bound to another model after this object was created.
        """
        if k <= 0 or not len(seqs):
            return []
        with self._lock, self._ledger.reading():
            position = self._prepare_query()
            hits = self._query_index(vector, k, position, only_seqs=seqs) if len(seqs) > MAX_COMPARED else None
            return self.exact.query_subset(vector, k, seqs, position) if hits is None else hits

    def similarities(self, vector: Vector, seqs: Seqs) -> dict[int, float]:
        """Return the similarities of a few records, keyed by record number. Records without vectors are left out.

        Raises:
            EmbeddingModelMismatch: The store was bound to another model after this object was created.
        """
        if not len(seqs):
            return {}
        with self._lock, self._ledger.reading():
            return self.exact.similarities(vector, seqs, self._prepare_query())

    def is_exact(self) -> bool:
        """Return whether the collection is small enough for queries to compare every vector."""
        return not self._count.exceeds(self._exact_max_rows, self._ledger.position(self._collection))

    @property
    def problem(self) -> str:
        """Reason why queries cannot use the index that they need, as a sentence, or empty."""
        return OUTAGE_MESSAGE if self.index is not None and self.index.fault and not self.is_exact() else ""

    def close(self) -> None:
        """Stop the background work, and close the index's files. A later query opens them again."""
        self.exact.close()
        self.updater.wait()
        if self.index is not None and self.index.is_open:
            with self._lock, self.index.locked(to_write=False):
                self.index.close()

    def before_fork(self) -> None:
        """Acquire the lock during the fork, unless a query is running."""
        self._is_locked_for_fork = self._lock.acquire(blocking=False)

    def after_fork(self, *, in_child: bool) -> None:
        """Release the lock. If a query was running during the fork, drop its partly read vectors in the child."""
        if self._is_locked_for_fork:
            self._lock.release()
        elif in_child:
            self._lock = threading.RLock()
            self.exact.forget()
            if self.indexed is not None:
                self.indexed.forget()

    def _prepare_query(self) -> Position:
        """Return the collection's position in the query's snapshot of the ledger.

        If all vectors were read into memory in the background, queries use them from now on, and the index is closed.
        """
        position = self._ledger.position(self._collection)
        if position.model is not None and position.model != self._model:
            raise model_mismatch(position.model, self._model)
        if self.exact.use_loaded_vectors():
            self._close_index()
        return position

    def _close_index(self) -> None:
        """Close the index, unless another process is writing it. Its vectors are in memory, so it is not needed."""
        if self.index is not None:
            with self.index.locked(LOCK_SECONDS, to_write=False) as is_locked:
                if is_locked:
                    self.index.close()

    def _query_index(
        self, vector: Vector, k: int, position: Position, only_seqs: Seqs | None = None
    ) -> Neighbours | None:
        """Return the k nearest records from the index and its tail, or None if exact search is needed or faster."""
        if self.indexed is None or not self._count.exceeds(self._exact_max_rows, position):
            return None
        self.updater.retry()
        if self.exact.is_preferred(position):
            return None
        return self.indexed.query(vector, k, position, only_seqs)
