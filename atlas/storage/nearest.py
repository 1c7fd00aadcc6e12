"""Nearest neighbours of a collection: exact over what is in memory, merged with the index for what is not.

The *tail* holds the vectors of every record that changed after the index's last seal; in a small store the index is
not asked at all and the tail holds everything. Before each query the tail reads what the ledger has added since, so a
record is found by every process as soon as its write was acknowledged. A record in the tail hides what the index says
of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence

import numpy as np

from atlas.core.types import Vector, Vectors
from atlas.infra.vector_index.chroma import ChromaIndex, IndexUnusable, Seal
from atlas.infra.vector_index.exact import ExactIndex
from atlas.storage.ledger import SqliteLedger
from atlas.storage.records import Entry, Position

logger = logging.getLogger(__name__)

BATCH = 2_000
LOCK_SECONDS = 0.2
"""How long a query waits for the index while another process writes it; then it scans the ledger's own vectors."""

Found = list[tuple[str, float]]
"""Record ids with the similarity of their best window, highest first."""


class Nearest:
    """Nearest-neighbour queries over one collection of a ledger."""

    def __init__(
        self, ledger: SqliteLedger, collection: str, index: ChromaIndex | None, *, dimension: int, exact_max_rows: int
    ) -> None:
        self._ledger = ledger
        self._collection = collection
        self.index = index
        self._exact_max_rows = exact_max_rows
        self._tail = Tail(dimension)
        self._lock = threading.RLock()

    def query(self, vector: Vector, k: int) -> Found:
        """The k records whose best window is nearest to a vector."""
        if k <= 0:
            return []
        with self._lock:
            self._refresh()
            found = self._query_index(vector, k) if self._tail.base.revision else []
            return _best([*found, *self._tail.query(vector, k)], k)

    def query_among(self, vector: Vector, k: int, ids: Sequence[str]) -> Found:
        """The k nearest of these records, exactly."""
        with self._lock:
            self._refresh()
            elsewhere = [record_id for record_id in ids if not self._tail.covers(record_id)]
            found = self._score(vector, elsewhere) if elsewhere else []
            return _best([*found, *self._tail.query_among(vector, k, ids)], k)

    def catch_up(self, timeout_seconds: float = -1) -> int:
        """Bring the index up to the ledger; how many records it took in. Nothing if another process is at it."""
        if self.index is None:
            return 0
        with self.index.held(timeout_seconds) as is_held:
            if not is_held:
                return 0
            try:
                return self._follow(self.index)
            except IndexUnusable as error:
                logger.info("building the index of %s anew: %s", self._collection, error)
                self.index.clear()
                return self._follow(self.index)

    def is_behind(self, lag_rows: int, exact_max_rows: int) -> bool:
        """Whether the index is needed for this collection and more than `lag_rows` revisions behind."""
        now = self._ledger.position(self._collection)
        return (
            self.index is not None and now.revision > exact_max_rows and now.revision - self.seal().revision > lag_rows
        )

    def seal(self) -> Seal:
        """How far the index is."""
        return self.index.seal() if self.index else Seal()

    def close(self) -> None:
        """Let go of the index's files."""
        if self.index is not None:
            with self._lock, self.index.held():
                self.index.close()

    def _refresh(self) -> None:
        now = self._ledger.position(self._collection)
        if now.ledger_id != self._tail.base.ledger_id:
            self._tail.clear(Position(now.ledger_id, 0))
        if self._wants_index(now):
            self._tail.clear(Position(now.ledger_id, self.seal().revision))
        if self._tail.seen < now.revision:
            self._read_tail()

    def _wants_index(self, now: Position) -> bool:
        """Whether the index would take over enough of what the tail holds, or would have to read, to be worth it."""
        if self.index is None or now.revision - self._tail.base.revision <= self._exact_max_rows:
            return False
        seal = self.index.seal()
        return seal.ledger_id == now.ledger_id and seal.revision - self._tail.base.revision > self._exact_max_rows // 2

    def _query_index(self, vector: Vector, k: int) -> Found:
        assert self.index is not None
        with self.index.held(LOCK_SECONDS) as is_held:
            if is_held:
                try:
                    return self._ask_index(self.index, vector, k)
                except IndexUnusable as error:
                    logger.info("the index of %s is out of use until it is built anew: %s", self._collection, error)
        self._tail.clear(Position(self._tail.base.ledger_id, 0))
        self._read_tail()
        return []

    def _ask_index(self, index: ChromaIndex, vector: Vector, k: int) -> Found:
        wanted = 2 * k
        while True:
            hits = index.query(vector, wanted)
            found = _best(((record_of(key), value) for key, value in hits if not self._tail.covers(record_of(key))), k)
            if len(found) == k or len(hits) < wanted:
                return found
            wanted *= 4  # the rest were further windows of the same records, or records that changed since

    def _read_tail(self) -> None:
        while entries := self._ledger.follow(self._collection, self._tail.seen, BATCH):
            self._tail.take(entries)

    def _score(self, vector: Vector, ids: Sequence[str]) -> Found:
        return [
            (record_id, float((windows @ vector).max()))
            for record_id, windows in self._ledger.vectors(self._collection, ids).items()
        ]

    def _follow(self, index: ChromaIndex) -> int:
        now, seal = self._ledger.position(self._collection), index.seal()
        if seal.ledger_id != now.ledger_id:
            index.clear()
            seal = Seal()
        since, n_taken = seal.revision, 0
        while entries := self._ledger.follow(self._collection, since, BATCH):
            _hand_over(index, entries)
            since = entries[-1].revision
            n_taken += len(entries)
        if n_taken:
            index.set_seal(now.ledger_id, since)
        return n_taken


class Tail:
    """The vectors of the records that changed after a position, in memory."""

    def __init__(self, dimension: int) -> None:
        self.base = Position("", 0)
        self.seen = 0
        """The newest revision that it has read."""

        self._exact = ExactIndex(dimension)
        self._windows: dict[str, int] = {}

    @property
    def n_records(self) -> int:
        """How many records it holds, deleted ones included."""
        return len(self._windows)

    def clear(self, base: Position) -> None:
        """Begin anew after a position."""
        self.base, self.seen = base, base.revision
        self._exact.clear()
        self._windows.clear()

    def take(self, entries: Sequence[Entry]) -> None:
        """Take in changes, oldest first."""
        for entry in entries:
            self._exact.remove(_keys(entry.id, self._windows.get(entry.id, 0)))
            self._windows[entry.id] = len(entry.vectors)
        keys, vectors = _present(entries)
        self._exact.upsert(keys, vectors)
        self.seen = entries[-1].revision

    def covers(self, record_id: str) -> bool:
        """Whether it knows better than the index."""
        return record_id in self._windows

    def query(self, vector: Vector, k: int) -> Found:
        """The k nearest records."""
        wanted = k
        while True:
            hits = self._exact.query(vector, wanted)
            found = _best(((record_of(key), value) for key, value in hits), k)
            if len(found) == k or len(hits) < wanted:
                return found
            wanted *= 4

    def query_among(self, vector: Vector, k: int, ids: Iterable[str]) -> Found:
        """The k nearest of these records; those that it does not hold are passed over."""
        keys = [key for record_id in ids for key in _keys(record_id, self._windows.get(record_id, 0))]
        hits = self._exact.query(vector, len(keys), among=keys)
        return _best(((record_of(key), value) for key, value in hits), k)


def record_of(key: str) -> str:
    """The record whose window an index key names."""
    return key.rpartition(":")[0]


def _keys(record_id: str, n_windows: int, first: int = 0) -> list[str]:
    return [f"{record_id}:{window}" for window in range(first, n_windows)]


def _present(entries: Sequence[Entry]) -> tuple[list[str], Vectors]:
    live = [entry for entry in entries if len(entry.vectors)]
    keys = [key for entry in live for key in _keys(entry.id, len(entry.vectors))]
    vectors = np.concatenate([entry.vectors for entry in live]) if live else np.zeros((0, 1), np.float32)
    return keys, vectors


def _hand_over(index: ChromaIndex, entries: Sequence[Entry]) -> None:
    gone = [key for entry in entries for key in _keys(entry.id, entry.n_windows, len(entry.vectors))]
    keys, vectors = _present(entries)
    if gone:
        index.remove(gone)
    if keys:
        index.upsert(keys, vectors)


def _best(hits: Iterable[tuple[str, float]], k: int) -> Found:
    """Each record once, by its best window, the k highest first."""
    best: dict[str, float] = {}
    for record_id, similarity in hits:
        best[record_id] = max(similarity, best.get(record_id, -2.0))
    return sorted(best.items(), key=lambda item: -item[1])[:k]
