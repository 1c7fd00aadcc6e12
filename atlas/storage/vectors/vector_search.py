"""Nearest neighbours of a collection: exact in memory, or the index merged with what it has not followed yet.

A small store is scanned whole in memory. In a large one the index answers, and the *tail* adds the records that changed
after the index's last seal; a record in the tail hides what the index says of it. A process that asks often holds a
large one in memory too, as that answers sooner, and exactly. Before each query, memory reads what the ledger has added
since the last one, so a record is found by every process as soon as its write was acknowledged.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

import numpy as np

from atlas.core.errors import AtlasError
from atlas.core.types import Vector
from atlas.infra import fork_safety as forking
from atlas.infra.background import Background
from atlas.storage.engine import LedgerEngine
from atlas.storage.following_index import (
    FilteredIndex,
    FollowingIndex,
    IndexBehind,
    IndexUnreachable,
    IndexUnusable,
    Seal,
)
from atlas.storage.records import Position, Seqs, mismatch
from atlas.storage.vectors.following import BATCH, Follower
from atlas.storage.vectors.in_memory import Found, InMemory, best, owner
from atlas.storage.vectors.products import products

logger = logging.getLogger(__name__)

LOCK_SECONDS = 0.2
"""How long a query waits for the index while another process writes it. Then it scans memory."""

RECOUNTS = 25
"""How often a collection's vectors are counted while it is written as often as the number that matters."""

MAX_RESIDENT = 200_000
"""Vectors up to which queries may keep all of them in memory (400 MB at 384 dimensions). Of a collection that the index
answers for, that is done once filtered queries have read as many from the ledger: until then, a query reads those that
pass, some ten times slower, but without the seconds that it takes to read all. Beyond, only a query that much passes
reads all of them."""

FEW = 1_000
"""Records up to which a filtered query compares every one, whatever the index could do."""

MANY_QUERIES = 8
"""Queries of one process that the index answers before the vectors are read into memory, beside them. A command asks
fewer."""

LOOK_SECONDS = 60.0
"""Time between two looks of queries at whether an index is too far behind for them."""

OUT_OF_REACH = (
    "The service that keeps the index does not answer, so searches compare every vector: slower, and complete."
)


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
        self.index = index
        self._follower = Follower(ledger, collection)
        self._ledger = ledger
        self._collection = collection
        self._model = model
        self._exact_max_rows = exact_max_rows
        self._whole = InMemory(model[1])
        self._tail = InMemory(model[1])
        self._exceeded: dict[int, tuple[tuple[str, int], bool]] = {}
        self._n_read = 0
        """Records whose vectors filtered queries have read from the ledger."""

        self._n_asked = 0
        """Queries that the index has answered."""

        self._reading = Background("atlas-vectors", self._hold_quietly)
        """Reads all vectors into memory."""

        self._made: InMemory | None = None
        """What it has read, to be taken by the next query: it holds no lock, so a fork meanwhile does no harm."""

        self._caring = Background("atlas-index", self._care)
        """Brings an index in a service up to the ledger, and asks it again after it failed."""

        self._looks_again_at = float("-inf")

        self._is_closed = threading.Event()
        self._lock = threading.RLock()
        self._is_idle = False
        """Whether no other thread was asking when this process was forked."""

        forking.watch(self)

    def query(self, vector: Vector, k: int) -> Found:
        """Return the k records whose best window is nearest to a vector.

        Raises:
            EmbeddingModelMismatch: The store has been bound to another model meanwhile.
        """
        if k <= 0:
            return []
        with self._lock, self._ledger.reading():  # one state of the store: its model and its vectors
            now = self._position()
            self._take_made()
            self._look_after_index()
            k = min(k, now.revision)  # there are never more records than revisions, and the index takes no huge k
            if self._is_for_index(now) and (found := self._query_index(vector, k, now)) is not None:
                self._count_asked(now)
                return found
            self._refresh(self._whole, now, base=0)
            return self._whole.query(vector, k)

    def query_among(self, vector: Vector, k: int, seqs: Seqs) -> Found:
        """Return the k nearest of these records, exactly.

        Raises:
            EmbeddingModelMismatch: The store has been bound to another model meanwhile.
        """
        if k <= 0 or not len(seqs):
            return []
        with self._lock, self._ledger.reading():
            now = self._position()
            if len(seqs) > FEW and self._is_for_index(now):
                found = self._query_index(vector, k, now, among=seqs)
                if found is not None:
                    return found
            if not self._is_worth_holding(len(seqs), now):
                return best(self.similarities(vector, seqs).items(), k)
            self._refresh(self._whole, now, base=0)
            return self._whole.query(vector, k, among=seqs)

    def similarities(self, vector: Vector, seqs: Seqs) -> dict[int, float]:
        """Return the similarities of a few records, by number, without those that have no vector.

        They are read from the ledger where memory does not hold all.

        Raises:
            EmbeddingModelMismatch: The store has been bound to another model meanwhile.
        """
        if not len(seqs):
            return {}
        with self._lock, self._ledger.reading():
            now = self._position()
            if self._is_held(now):
                self._refresh(self._whole, now, base=0)
                return dict(self._whole.query(vector, len(seqs), among=seqs))
            return self._read_and_compare(vector, seqs)

    def _read_and_compare(self, vector: Vector, seqs: Seqs) -> dict[int, float]:
        owners, vectors = self._ledger.vectors.at(seqs)
        if not len(owners):
            return {}
        return dict(best(zip(owners.tolist(), products(vectors, vector).tolist(), strict=True), len(seqs)))

    def catch_up(self, timeout_seconds: float = -1) -> int:
        """Bring the index up to the ledger, unless another process is at it, and return how many records it took in."""
        return self._follower.catch_up(self.index, timeout_seconds) if self.index is not None else 0

    def keep_up(self, lag_rows: int) -> None:
        """Bring the index up to the ledger where it is more than `lag_rows` revisions behind.

        One in a service is brought up to it beside the caller, who has nothing to wait for.
        """
        if self.index is None or not self.is_behind(lag_rows):
            return
        if self.index.is_remote:
            self._caring.begin()
        else:
            self.catch_up(timeout_seconds=0)

    def finish(self) -> int:
        """Bring the index up to the ledger, as whoever closes the store does, and return how many records it took in.

        One in a service is left to whoever writes it now, who may be on a machine that is gone.
        """
        if not self.is_behind(0):
            return 0
        self._caring.wait()
        return self.catch_up(timeout_seconds=0 if self.index is not None and self.index.is_remote else -1)

    def wait(self, timeout_seconds: float) -> None:
        """Wait for what brings the index up to the ledger beside others, at most so long."""
        self._caring.wait(timeout_seconds)

    def is_behind(self, lag_rows: int) -> bool:
        """Return whether queries need the index and it is more than `lag_rows` revisions behind."""
        if self.index is None:
            return False
        now = self._ledger.position(self._collection)
        if not self._exceeds(self._exact_max_rows, now):
            return False
        written = self.index.written()
        return now.revision - (0 if self._follower.flaw(written, now) else written.revision) > lag_rows

    def n_behind(self) -> int:
        """Return how many changes the index has still to take in. 0 where queries do without it."""
        if self.index is None or self.is_exact():
            return 0
        return max(0, self._ledger.position(self._collection).revision - self.seal().revision)

    def is_exact(self) -> bool:
        """Return whether queries compare every vector and do without the index, as they are few."""
        return not self._exceeds(self._exact_max_rows, self._ledger.position(self._collection))

    def seal(self) -> Seal:
        """Return how far the index is. An empty seal where the one that it has is not to be believed."""
        seal = self.index.seal() if self.index else Seal()
        return Seal() if self._follower.flaw(seal, self._ledger.position(self._collection)) else seal

    def flaw(self) -> str:
        """Return why the index is not to be believed, to follow the collection's name. Nothing where it is."""
        seal = self.index.seal() if self.index else Seal()
        return self._follower.flaw(seal, self._ledger.position(self._collection))

    @property
    def problem(self) -> str:
        """The reason, as a sentence, why queries that need the index do without it. Empty where they do not."""
        return OUT_OF_REACH if self.index is not None and self.index.fault and not self.is_exact() else ""

    def hold(self) -> None:
        """Read all vectors into memory, in turns, so that others may ask meanwhile. It ends early once this is closed.

        Each turn reads one state of the store, and begins again where that is not one after the last.
        """
        memory, is_whole = InMemory(self._model[1]), False
        while not (is_whole or self._is_closed.is_set()):
            with self._ledger.reading():
                now = self._position()
                self._refresh(memory, now, base=0, most=BATCH)
                is_whole = memory.seen >= now.revision
        if is_whole:
            self._made = memory

    def close(self) -> None:
        """Let go of the index's files, and end what reads beside queries. A later query begins them again."""
        self._is_closed.set()
        self._reading.wait()
        self._caring.wait()
        self._is_closed.clear()
        if self.index is not None and self.index.is_open:
            with self._lock, self.index.held(to_write=False):
                self.index.close()

    def before_fork(self) -> None:
        """Let no thread begin a query until the fork is over, unless one is under way."""
        self._is_idle = self._lock.acquire(blocking=False)

    def after_fork(self, *, in_child: bool) -> None:
        """Go on. A child does without what a thread of its parent was in the middle of."""
        if self._is_idle:
            self._lock.release()
        elif in_child:
            self._lock = threading.RLock()
            self._whole, self._tail, self._made = InMemory(self._model[1]), InMemory(self._model[1]), None

    def _position(self) -> Position:
        now = self._ledger.position(self._collection)
        if now.model is not None and now.model != self._model:
            raise mismatch(now.model, self._model)
        return now

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

    def _is_held(self, now: Position) -> bool:
        """Return whether memory has all vectors, but for a few that are soon read."""
        held = self._whole
        return held.base.ledger_id == now.ledger_id and 0 <= now.revision - held.seen <= self._exact_max_rows

    def _take_made(self) -> None:
        """Go on with what was read beside queries, and without the index, which would hold it once more."""
        if self._made is None:
            return
        self._whole, self._tail, self._made = self._made, InMemory(self._model[1]), None
        if self.index is not None:
            with self.index.held(LOCK_SECONDS, to_write=False) as is_held:
                if is_held:
                    self.index.close()

    def _is_for_index(self, now: Position) -> bool:
        """Return whether there are so many vectors that memory does not hold, or is not to hold, all of them."""
        if not self._exceeds(self._exact_max_rows, now):
            return False
        return not self._is_held(now) or self._exceeds(MAX_RESIDENT, now)

    def _count_asked(self, now: Position) -> None:
        """Have all vectors read into memory once the index has answered many queries."""
        self._n_asked += 1
        if self._n_asked >= MANY_QUERIES and not self._exceeds(MAX_RESIDENT, now):
            self._n_asked = 0
            self._reading.begin()

    def _look_after_index(self) -> None:
        """Have an index that failed, or that nobody built, brought up to the ledger beside queries once it answers."""
        if self.index is not None and (self.index.is_due or self._is_forgotten(self.index)):
            self._caring.begin()

    def _is_forgotten(self, index: FollowingIndex) -> bool:
        """Return whether the index is too far behind for queries, which is looked at once a minute."""
        if not index.is_resumable or index.fault or time.monotonic() < self._looks_again_at:
            return False
        self._looks_again_at = time.monotonic() + LOOK_SECONDS
        return self.is_behind(self._exact_max_rows)

    def _care(self) -> None:
        try:
            if self.index is not None:
                self.index.count()
            self.catch_up(timeout_seconds=0)
        except IndexUnusable as error:
            logger.debug("the index of %s is still out of use: %s", self._collection, error)
        except AtlasError as error:  # closed meanwhile, or damaged, which whoever asks is told
            logger.debug("the index of %s cannot be looked after: %s", self._collection, error)

    def _hold_quietly(self) -> None:
        try:
            self.hold()
        except AtlasError as error:  # closed meanwhile, or damaged, which whoever asks is told
            logger.debug("the vectors of %s could not be read into memory: %s", self._collection, error)

    def _query_index(self, vector: Vector, k: int, now: Position, among: Seqs | None = None) -> Found | None:
        """Return what index and tail find together, or None where the index is of no use now."""
        if self.index is None or (among is not None and not isinstance(self.index, FilteredIndex)):
            return None
        if self.index.fault:  # nobody waits for it before it has answered beside queries
            return None
        for _ in range(2):
            try:
                return self._query_sealed(self.index, vector, k, now, among)
            except IndexBehind:  # it has an earlier seal from now on
                continue
            except IndexUnreachable as error:
                logger.info("the index of %s is left out of a query: %s", self._collection, error)
                return None
        return None

    def _query_sealed(
        self, index: FollowingIndex, vector: Vector, k: int, now: Position, among: Seqs | None
    ) -> Found | None:
        seal = index.seal()
        if now.revision - seal.revision > self._exact_max_rows or self._follower.flaw(seal, now):
            return None
        # The tail may begin before the seal, as what it holds counts for more; a shorter one is only cheaper.
        held = self._tail.base
        is_usable = held.ledger_id == now.ledger_id and 0 <= seal.revision - held.revision <= self._exact_max_rows
        self._refresh(self._tail, now, base=held.revision if is_usable else seal.revision)
        with index.held(LOCK_SECONDS, to_write=False) as is_held:
            seal = index.seal()
            if not is_held or self._follower.flaw(seal, now) or seal.revision < self._tail.base.revision:
                return None  # where it is held: it was deleted or made again meanwhile
            try:
                return best([*self._ask(index, seal, vector, k, among), *self._tail.query(vector, k, among)], k)
            except IndexUnreachable:
                raise
            except IndexUnusable as error:
                logger.info("the index of %s is out of use until it is built again: %s", self._collection, error)
                index.clear()
                return None

    def _ask(self, index: FollowingIndex, seal: Seal, vector: Vector, k: int, among: Seqs | None) -> Found:
        wanted = min(2 * k, index.most_hits)
        while True:
            if among is not None and isinstance(index, FilteredIndex):
                hits = index.query_among(vector, wanted, among)
            else:
                hits = index.query(vector, wanted, seal=seal)
            found = best(self._of_index(index, hits, vector), k)
            if len(found) == k or len(hits) < wanted:
                return found
            if wanted == index.most_hits:
                raise IndexUnreachable(f"it gives at most {wanted} hits, too few for the best {k} records")
            # The rest were further windows of the same records, or records that changed since.
            wanted = min(4 * wanted, index.most_hits)

    def _of_index(
        self, index: FollowingIndex, hits: Iterable[tuple[str, float]], vector: Vector
    ) -> Iterable[tuple[int, float]]:
        """Return the records among hits that the index is to be believed of, a record as often as it was hit."""
        owned = [(owner(key), similarity) for key, similarity in hits]
        believed = [(seq, similarity) for seq, similarity in owned if not self._tail.covers(seq)]
        if not index.is_remote:
            return believed
        return self._read_and_compare(vector, np.unique(np.array([seq for seq, _ in believed], np.int64))).items()

    def _refresh(self, memory: InMemory, now: Position, *, base: int, most: int | None = None) -> None:
        """Have memory know what the ledger has added since, or the next `most` changes of it."""
        begins = memory.base.ledger_id == now.ledger_id and memory.base.revision == base
        if not begins or not (memory.seen == base or self._follower.is_past(memory.tip, now)):
            memory.clear(Position(now.ledger_id, base))
        while memory.seen < now.revision and (entries := self._ledger.follow(self._collection, memory.seen, BATCH)):
            memory.take(entries)
            if most is not None and len(entries) >= most:
                break
        memory.tip = now.tip
