"""Nearest neighbours of a collection: exact in memory, or the index merged with what it has not followed yet.

A small store is scanned whole in memory. In a large one the index answers, and the *tail* adds the records that changed
after the index's last seal; a record in the tail hides what the index says of it. Before each query, memory reads what
the ledger has added since the last one, so a record is found by every process as soon as its write was acknowledged.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence

import numpy as np

from atlas.core.types import Vector, Vectors
from atlas.storage.engine import LedgerEngine
from atlas.storage.records import NO_TIP, Entry, Position, Seqs, Tip, mismatch
from atlas.storage.vectors.chroma import ChromaIndex, IndexUnusable, Seal
from atlas.storage.vectors.exact import ExactIndex, products

logger = logging.getLogger(__name__)

BATCH = 2_000
LOCK_SECONDS = 0.2
"""How long a query waits for the index while another process writes it. Then it scans memory."""

RECOUNTS = 25
"""How often a collection's vectors are counted while it is written as often as the number that matters."""

MAX_RESIDENT = 200_000
"""Vectors up to which filtered queries may keep all of them in memory (300 MB at 384 dimensions). Of a collection that
the index answers for, that is done once they have read as many from the ledger: until then, a query reads those that
pass, some ten times slower, but without the seconds that it takes to read all. Beyond, only a query that much passes
reads all of them."""

Found = list[tuple[int, float]]
"""Numbers of records with the similarity of their best window, highest first."""


class Nearest:
    """Nearest-neighbour queries over one collection of a ledger."""

    def __init__(
        self,
        ledger: LedgerEngine,
        collection: str,
        index: ChromaIndex | None,
        *,
        model: tuple[str, int],
        exact_max_rows: int,
    ) -> None:
        self.index = index
        self._ledger = ledger
        self._collection = collection
        self._model = model
        self._exact_max_rows = exact_max_rows
        self._whole = InMemory(model[1])
        self._tail = InMemory(model[1])
        self._exceeded: dict[int, tuple[tuple[str, int], bool]] = {}
        self._n_read = 0
        """Records whose vectors filtered queries have read from the ledger."""

        self._lock = threading.RLock()

    def query(self, vector: Vector, k: int) -> Found:
        """Return the k records whose best window is nearest to a vector.

        Raises:
            EmbeddingModelMismatch: The store has been bound to another model meanwhile.
        """
        if k <= 0:
            return []
        with self._lock, self._ledger.reading():  # one state of the store: its model and its vectors
            now = self._position()
            k = min(k, now.revision)  # there are never more records than revisions, and the index takes no huge k
            found = self._query_index(vector, k, now) if self._exceeds(self._exact_max_rows, now) else None
            if found is None:
                self._refresh(self._whole, now, base=0)
                found = self._whole.query(vector, k)
            return found

    def query_among(self, vector: Vector, k: int, seqs: Seqs) -> Found:
        """Return the k nearest of these records, exactly.

        Raises:
            EmbeddingModelMismatch: The store has been bound to another model meanwhile.
        """
        if k <= 0 or not len(seqs):
            return []
        with self._lock, self._ledger.reading():
            now = self._position()
            if not self._is_worth_holding(len(seqs), now):
                return _best(self.similarities(vector, seqs).items(), k)
            self._refresh(self._whole, now, base=0)
            return self._whole.query(vector, k, among=seqs)

    def similarities(self, vector: Vector, seqs: Seqs) -> dict[int, float]:
        """Return the similarities of a few records, by number, without those that have no vector. Read from the ledger.

        Raises:
            EmbeddingModelMismatch: The store has been bound to another model meanwhile.
        """
        if not len(seqs):
            return {}
        with self._ledger.reading():
            self._position()
            owners, vectors = self._ledger.vectors.at(seqs)
        if not len(owners):
            return {}
        return dict(_best(zip(owners.tolist(), products(vectors, vector).tolist(), strict=True), len(seqs)))

    def catch_up(self, timeout_seconds: float = -1) -> int:
        """Bring the index up to the ledger, unless another process is at it, and return how many records it took in."""
        if self.index is None:
            return 0
        with self.index.held(timeout_seconds) as is_held:
            if not is_held:
                return 0
            try:
                return self._follow(self.index)
            except IndexUnusable as error:
                logger.info("building the index of %s again: %s", self._collection, error)
                self.index.clear()
            try:
                return self._follow(self.index)
            except IndexUnusable as error:  # a full disk, say: the ledger has everything, and queries do without
                logger.warning("the index of %s cannot be built: %s", self._collection, error)
                return 0

    def is_behind(self, lag_rows: int) -> bool:
        """Return whether queries need the index and it is more than `lag_rows` revisions behind."""
        if self.index is None:
            return False
        now = self._ledger.position(self._collection)
        return self._exceeds(self._exact_max_rows, now) and now.revision - self.seal().revision > lag_rows

    def is_exact(self) -> bool:
        """Return whether queries compare every vector and do without the index, as they are few."""
        return not self._exceeds(self._exact_max_rows, self._ledger.position(self._collection))

    def seal(self) -> Seal:
        """Return how far the index is. An empty seal where the one that it has is not to be believed."""
        seal = self.index.seal() if self.index else Seal()
        return Seal() if self._flaw(seal, self._ledger.position(self._collection)) else seal

    def flaw(self) -> str:
        """Return why the index is not to be believed, to follow the collection's name. Nothing where it is."""
        seal = self.index.seal() if self.index else Seal()
        return self._flaw(seal, self._ledger.position(self._collection))

    def close(self) -> None:
        """Let go of the index's files."""
        if self.index is not None and self.index.is_open:
            with self._lock, self.index.held():
                self.index.close()

    def _position(self) -> Position:
        now = self._ledger.position(self._collection)
        if now.model is not None and now.model != self._model:
            raise mismatch(now.model, self._model)
        return now

    def _flaw(self, seal: Seal, now: Position) -> str:
        """Return what of a seal is not so of the ledger. Nothing where all is.

        Vectors need not be counted: they were when it was set, and opening the index counts its keys.
        """
        if seal.ledger_id != now.ledger_id:
            return "has no index"
        if not seal.change_name:
            return "has an index of an earlier version, which may lack records"
        return "" if self._is_past(_tip(seal), now) else "has an index of another history than the ledger's"

    def _is_past(self, tip: Tip, now: Position) -> bool:
        """Return whether the ledger has had a change, and so all that was followed up to it."""
        if tip == now.tip:
            return True
        return self._ledger.has_change(tip)

    def _exceeds(self, n_vectors: int, now: Position) -> bool:
        """Return whether there are more vectors than this.

        They are counted only now and then, as it takes milliseconds.
        """
        at = now.ledger_id, now.revision // max(1, n_vectors // RECOUNTS)
        if self._exceeded.get(n_vectors, (None, False))[0] != at:
            self._exceeded[n_vectors] = at, self._ledger.vectors.exceed(self._collection, n_vectors)
        return self._exceeded[n_vectors][1]

    def _is_worth_holding(self, n_wanted: int, now: Position) -> bool:
        """Return whether a query that compares so many records should have all vectors in memory."""
        if not self._exceeds(self._exact_max_rows, now):
            return True
        if self._exceeds(MAX_RESIDENT, now):
            return n_wanted >= now.revision // 10
        if self._whole.base.ledger_id == now.ledger_id:
            return True
        self._n_read += n_wanted
        return self._n_read > now.revision

    def _query_index(self, vector: Vector, k: int, now: Position) -> Found | None:
        """Return what index and tail find together, or None where the index is of no use now."""
        if self.index is None:
            return None
        seal = self.index.seal()
        if now.revision - seal.revision > self._exact_max_rows or self._flaw(seal, now):
            return None
        # The tail may begin before the seal, as what it holds counts for more; a shorter one is only cheaper.
        held = self._tail.base
        is_usable = held.ledger_id == now.ledger_id and 0 <= seal.revision - held.revision <= self._exact_max_rows
        self._refresh(self._tail, now, base=held.revision if is_usable else seal.revision)
        with self.index.held(LOCK_SECONDS) as is_held:
            seal = self.index.seal()
            if not is_held or self._flaw(seal, now) or seal.revision < self._tail.base.revision:
                return None  # where it is held: it was deleted or made again meanwhile
            try:
                return _best([*self._ask(self.index, seal, vector, k), *self._tail.query(vector, k)], k)
            except IndexUnusable as error:
                logger.info("the index of %s is out of use until it is built again: %s", self._collection, error)
                self.index.clear()
                return None

    def _ask(self, index: ChromaIndex, seal: Seal, vector: Vector, k: int) -> Found:
        wanted = 2 * k
        while True:
            hits = index.query(vector, wanted, seal=seal)
            owned = ((_owner(key), similarity) for key, similarity in hits)
            found = _best(((seq, similarity) for seq, similarity in owned if not self._tail.covers(seq)), k)
            if len(found) == k or len(hits) < wanted:
                return found
            wanted *= 4  # the rest were further windows of the same records, or records that changed since

    def _refresh(self, memory: InMemory, now: Position, *, base: int) -> None:
        begins = memory.base.ledger_id == now.ledger_id and memory.base.revision == base
        if not begins or not (memory.seen == base or self._is_past(memory.tip, now)):
            memory.clear(Position(now.ledger_id, base))
        while memory.seen < now.revision and (entries := self._ledger.follow(self._collection, memory.seen, BATCH)):
            memory.take(entries)
        memory.tip = now.tip

    def _follow(self, index: ChromaIndex) -> int:
        """Hand over what the index lacks, and seal it if it then holds as many vectors as the ledger."""
        seal, n_taken, n_vectors = self.seal(), 0, 0
        if seal == Seal():
            index.clear()
        at = Position(seal.ledger_id, seal.revision, tip=_tip(seal))
        while True:
            with self._ledger.reading():  # one state of the ledger: what changed, and what it adds up to
                at, entries = self._changes_after(at)
                if not entries:
                    n_vectors = self._ledger.vectors.count(self._collection) if n_taken else 0
                    break
            if not n_taken:
                index.begin(seal)
            _hand_over(index, entries)
            n_taken += len(entries)
        if n_taken:
            change, name = at.tip.number, at.tip.name
            index.set_seal(at.ledger_id, at.revision, change=change, change_name=name, n_keys=n_vectors)
        return n_taken

    def _changes_after(self, at: Position) -> tuple[Position, list[Entry]]:
        """Return the next changes after a position, and the position after them. The first has no ledger's id."""
        now = self._ledger.position(self._collection)
        if at.ledger_id and not (at.ledger_id == now.ledger_id and self._is_past(at.tip, now)):
            raise IndexUnusable("the ledger was restored, or a copy of it put back, while the index followed it")
        entries = self._ledger.follow(self._collection, at.revision, BATCH)
        return Position(now.ledger_id, entries[-1].revision if entries else at.revision, tip=now.tip), entries


class InMemory:
    """The vectors of the records that changed after a position."""

    def __init__(self, dimension: int) -> None:
        self.base = Position("", 0)
        self.seen = 0
        """The newest revision that it has read."""

        self.tip = NO_TIP
        """The newest change of the ledger when it read it."""

        self._exact = ExactIndex(dimension)
        self._windows: dict[int, int] = {}

    def clear(self, base: Position) -> None:
        """Begin again after a position."""
        self.base, self.seen = base, base.revision
        self._exact.clear()
        self._windows.clear()

    def take(self, entries: Sequence[Entry]) -> None:
        """Take in changes, oldest first."""
        for entry in entries:
            self._exact.remove(_keys(entry.seq, self._windows.get(entry.seq, 0)))
            self._windows[entry.seq] = len(entry.vectors)
        live = [entry for entry in entries if len(entry.vectors)]
        groups = [entry.seq for entry in live for _ in entry.vectors]
        self._exact.upsert(*_keys_and_vectors(live), groups)
        self.seen = entries[-1].revision

    def covers(self, seq: int) -> bool:
        """Return whether it knows better than the index."""
        return seq in self._windows

    def query(self, vector: Vector, k: int, among: Seqs | None = None) -> Found:
        """Return the k nearest records. Only of these numbers, where they are given."""
        wanted = k
        while True:
            hits = self._exact.query(vector, wanted, groups=among)
            found = _best(((_owner(key), similarity) for key, similarity in hits), k)
            if len(found) == k or len(hits) < wanted:
                return found
            wanted *= 4


def _tip(seal: Seal) -> Tip:
    return Tip(seal.change, seal.change_name)


def _keys(seq: int, n_windows: int, first: int = 0) -> list[str]:
    return [f"{seq}:{window}" for window in range(first, n_windows)]


def _owner(key: str) -> int:
    return int(key.partition(":")[0])


def _keys_and_vectors(live: Sequence[Entry]) -> tuple[list[str], Vectors]:
    keys = [key for entry in live for key in _keys(entry.seq, len(entry.vectors))]
    return keys, np.concatenate([entry.vectors for entry in live]) if live else np.zeros((0, 1), np.float32)


def _hand_over(index: ChromaIndex, entries: Sequence[Entry]) -> None:
    gone = [key for entry in entries for key in _keys(entry.seq, entry.n_windows, len(entry.vectors))]
    keys, vectors = _keys_and_vectors([entry for entry in entries if len(entry.vectors)])
    if gone:
        index.remove(gone)
    if keys:
        index.upsert(keys, vectors)


def _best(hits: Iterable[tuple[int, float]], k: int) -> Found:
    """Return each record once, by its best window, the k highest first."""
    best: dict[int, float] = {}
    for seq, similarity in hits:
        best[seq] = max(similarity, best.get(seq, -2.0))
    return sorted(best.items(), key=lambda item: -item[1])[:k]
