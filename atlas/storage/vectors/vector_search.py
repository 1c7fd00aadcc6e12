"""Nearest neighbours of a collection.

A small collection is compared whole, in memory. In a larger one the index answers: PostgreSQL's own, ChromaDB's files,
or a service. The *tail* adds the records that changed after the index's last seal, and replaces what the index has of
them. A process that asks often reads the larger one into memory too, as that answers sooner, and exactly. A filtered
query compares all records that pass, unless the index itself can filter.

Before each query, memory reads what the ledger has added since the last one. So a record is found by every process once
its write has returned.
"""

from __future__ import annotations

import threading

from atlas.core.types import Vector
from atlas.infra import fork_safety
from atlas.storage.engine import LedgerEngine
from atlas.storage.following_index import FollowingIndex
from atlas.storage.records import Position, Seqs, mismatch
from atlas.storage.vectors.exact_search import ExactSearch
from atlas.storage.vectors.following import Follower
from atlas.storage.vectors.in_memory import Neighbours
from atlas.storage.vectors.indexed_search import LOCK_SECONDS, IndexedSearch
from atlas.storage.vectors.upkeep import OUT_OF_REACH, IndexUpkeep
from atlas.storage.vectors.vector_count import VectorCount

FEW = 1_000
"""Records up to which a filtered query compares every one, whatever the index could do."""


class Nearest:
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
        self.upkeep = IndexUpkeep(collection, index, follower, count, exact_max_rows)
        self._ledger = ledger
        self._collection = collection
        self._model = model
        self._count = count
        self._exact_max_rows = exact_max_rows
        self._lock = threading.RLock()
        self._is_idle = False
        """True if no other thread was asking when this process was forked."""

        fork_safety.watch(self)

    def query(self, vector: Vector, k: int) -> Neighbours:
        """Return the k records whose best window is nearest to a vector.

        Raises:
            EmbeddingModelMismatch: The store has been bound to another model meanwhile.
        """
        if k <= 0:
            return []
        with self._lock, self._ledger.reading():  # one state of the store: its model and its vectors
            now = self._begin()
            k = min(k, now.revision)  # there are never more records than revisions, and the index takes no huge k
            if (found := self._query_index(vector, k, now)) is None:
                return self.exact.query(vector, k, now)
            self.exact.count_index_query(now)
            return found

    def query_among(self, vector: Vector, k: int, seqs: Seqs) -> Neighbours:
        """Return the k nearest of these records. Exactly, unless the index can filter and they are many.

        Raises:
            EmbeddingModelMismatch: The store has been bound to another model meanwhile.
        """
        if k <= 0 or not len(seqs):
            return []
        with self._lock, self._ledger.reading():
            now = self._begin()
            found = self._query_index(vector, k, now, among=seqs) if len(seqs) > FEW else None
            return self.exact.query_among(vector, k, seqs, now) if found is None else found

    def similarities(self, vector: Vector, seqs: Seqs) -> dict[int, float]:
        """Return the similarities of a few records, by number, without those that have no vector.

        Raises:
            EmbeddingModelMismatch: The store has been bound to another model meanwhile.
        """
        if not len(seqs):
            return {}
        with self._lock, self._ledger.reading():
            return self.exact.similarities(vector, seqs, self._begin())

    def is_exact(self) -> bool:
        """Return whether vectors are so few that queries compare all of them."""
        return not self._count.exceeds(self._exact_max_rows, self._ledger.position(self._collection))

    @property
    def problem(self) -> str:
        """The reason, as a sentence, why queries cannot use an index that they need, or empty if they can."""
        return OUT_OF_REACH if self.index is not None and self.index.fault and not self.is_exact() else ""

    def close(self) -> None:
        """Close the index's files, and end the work in the background. A later query opens them again."""
        self.exact.close()
        self.upkeep.wait()
        if self.index is not None and self.index.is_open:
            with self._lock, self.index.locked(to_write=False):
                self.index.close()

    def before_fork(self) -> None:
        """Hold the lock during the fork, unless a query holds it."""
        self._is_idle = self._lock.acquire(blocking=False)

    def after_fork(self, *, in_child: bool) -> None:
        """Release the lock. In a child of a fork taken during a query, drop half-read vectors."""
        if self._is_idle:
            self._lock.release()
        elif in_child:
            self._lock = threading.RLock()
            self.exact.forget()
            if self.indexed is not None:
                self.indexed.forget()

    def _begin(self) -> Position:
        """Return the ledger's position in the query's snapshot, and use vectors that were read in the background."""
        now = self._ledger.position(self._collection)
        if now.model is not None and now.model != self._model:
            raise mismatch(now.model, self._model)
        if self.exact.take_loaded():
            self._close_index()
        return now

    def _close_index(self) -> None:
        """Close the index, as memory has its vectors too, unless another process writes it."""
        if self.index is not None:
            with self.index.locked(LOCK_SECONDS, to_write=False) as is_held:
                if is_held:
                    self.index.close()

    def _query_index(self, vector: Vector, k: int, now: Position, among: Seqs | None = None) -> Neighbours | None:
        """Return the hits of index and tail, or None if every vector is to be compared."""
        if self.indexed is None or not self._count.exceeds(self._exact_max_rows, now):
            return None
        self.upkeep.look_after()
        if self.exact.is_preferred(now):
            return None
        return self.indexed.query(vector, k, now, among)
