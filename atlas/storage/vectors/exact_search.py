"""Exact search over vectors in memory, or over a few vectors read from the ledger.

Reading a collection takes seconds. A collection with an index is therefore read in the background, once queries have
taken about as long. After that, exact search in memory is faster than the index.
"""

from __future__ import annotations

import logging
import threading

from atlas.core.errors import AtlasError
from atlas.core.types import Vector
from atlas.infra.background import BackgroundTask
from atlas.storage.engine import LedgerEngine
from atlas.storage.records import Position, Seqs
from atlas.storage.vectors.following import BATCH, Follower
from atlas.storage.vectors.in_memory import InMemoryVectors, Neighbours, dot_products, rank_by_best_window
from atlas.storage.vectors.vector_count import VectorCount

logger = logging.getLogger(__name__)

MAX_RESIDENT = 200_000
"""Maximum number of vectors in memory (400 MB at 384 dimensions).

Above it, all vectors are read only for a filter that at least a tenth of the records pass.
"""

MANY_QUERIES = 8
"""Number of queries of a process after which vectors are read into memory. Commands run fewer."""


class ExactSearch:
    """Search that compares all vectors of one collection."""

    def __init__(
        self, ledger: LedgerEngine, follower: Follower, count: VectorCount, dimension: int, exact_max_rows: int
    ) -> None:
        self._ledger = ledger
        self._follower = follower
        self._count = count
        self._exact_max_rows = exact_max_rows
        self._dimension = dimension
        self.memory = InMemoryVectors(dimension)
        """Vectors of all records, once a query has needed them."""

        self.loading = BackgroundTask("atlas-vectors", self._load_or_log)
        self._loaded: InMemoryVectors | None = None
        """Vectors read in the background, until a query uses them. Reading takes no lock, so forks are safe."""

        self._n_read = 0.0
        """Records that queries have read from the ledger since the vectors were last read into memory."""

        self._is_closed = threading.Event()

    def is_preferred(self, position: Position) -> bool:
        """Return whether exact search is faster than an index for a collection at this position."""
        if not self._count.exceeds(self._exact_max_rows, position):
            return True
        return self._is_in_memory(position) and not self._count.exceeds(MAX_RESIDENT, position)

    def query(self, vector: Vector, k: int, position: Position) -> Neighbours:
        """Return the k nearest records."""
        self._follower.refresh(self.memory, position)
        return self.memory.query(vector, k)

    def query_subset(self, vector: Vector, k: int, seqs: Seqs, position: Position) -> Neighbours:
        """Return the k nearest of these records."""
        is_large_share = self._count.exceeds(MAX_RESIDENT, position) and len(seqs) >= position.revision // 10
        if is_large_share or self.is_preferred(position):
            self._follower.refresh(self.memory, position)
            return self.memory.query(vector, k, only_seqs=seqs)
        self._count_read(len(seqs), position)
        return rank_by_best_window(exact_similarities(self._ledger, vector, seqs).items(), k)

    def similarities(self, vector: Vector, seqs: Seqs, position: Position) -> dict[int, float]:
        """Return the similarities of a few records, keyed by record number. Records without vectors are left out."""
        if not self._is_in_memory(position):
            return exact_similarities(self._ledger, vector, seqs)
        self._follower.refresh(self.memory, position)
        return dict(self.memory.query(vector, len(seqs), only_seqs=seqs))

    def count_index_query(self, position: Position) -> None:
        """Count a query that the index answered as if it had read 1/`MANY_QUERIES` of the records."""
        self._count_read(position.revision / MANY_QUERIES, position)

    def load(self) -> None:
        """Read all vectors in batches, so that queries can run in between.

        The method stops early on close. Each batch is read in its own snapshot. Reading restarts if a snapshot does not
        continue the previous one.
        """
        memory, is_complete = InMemoryVectors(self._dimension), False
        while not (is_complete or self._is_closed.is_set()):
            with self._ledger.reading():
                position = self._follower.position()
                self._follower.refresh(memory, position, limit=BATCH)
                is_complete = memory.last_revision >= position.revision
        if is_complete:
            self._loaded = memory

    def use_loaded_vectors(self) -> bool:
        """Switch to the vectors that were read in the background. Return False if there are none."""
        if self._loaded is None:
            return False
        self.memory, self._loaded = self._loaded, None
        return True

    def close(self) -> None:
        """Stop the background loading. A later query restarts it."""
        self._is_closed.set()
        self.loading.wait()
        self._is_closed.clear()

    def forget(self) -> None:
        """Drop the vectors in memory."""
        self.memory, self._loaded = InMemoryVectors(self._dimension), None

    def _is_in_memory(self, position: Position) -> bool:
        """Return whether all vectors are in memory, except for a few that are quick to read."""
        is_same_ledger = self.memory.start.ledger_id == position.ledger_id
        return is_same_ledger and 0 <= position.revision - self.memory.last_revision <= self._exact_max_rows

    def _count_read(self, n_records: float, position: Position) -> None:
        """Count the records that a query has read from the ledger.

        Once queries have read as many records as the collection has, all vectors are loaded in the background.
        """
        self._n_read += n_records
        if self._n_read >= position.revision and not self._count.exceeds(MAX_RESIDENT, position):
            self._n_read = 0.0
            self.loading.begin()

    def _load_or_log(self) -> None:
        """Read all vectors, and log an error instead of raising it, because this runs in the background."""
        try:
            self.load()
        except AtlasError as error:  # the store was closed, or is damaged, which the next query reports
            logger.debug("the vectors could not be read into memory: %s", error)


def exact_similarities(ledger: LedgerEngine, vector: Vector, seqs: Seqs) -> dict[int, float]:
    """Return the similarities of records, keyed by record number, from their vectors in the ledger."""
    owners, vectors = ledger.vectors.read_by_seq(seqs)
    if not len(owners):
        return {}
    windows = zip(owners.tolist(), dot_products(vectors, vector).tolist(), strict=True)
    return dict(rank_by_best_window(windows, len(seqs)))
