"""Comparison of a collection's number of vectors with limits, without counting at each query."""

from __future__ import annotations

from atlas.storage.engine import LedgerEngine
from atlas.storage.records import Position

RECOUNTS = 25
"""Number of counts during as many writes as the limit."""


class VectorCount:
    """The number of vectors in one collection."""

    def __init__(self, ledger: LedgerEngine, collection: str) -> None:
        self._ledger = ledger
        self._collection = collection
        self._results: dict[int, tuple[tuple[str, int], bool]] = {}
        """The ledger's state at the last count, and whether the count exceeded the limit, keyed by limit."""

    def exceeds(self, limit: int, now: Position) -> bool:
        """Return whether there are more vectors than the limit. Counting takes milliseconds, so it is done rarely."""
        state = now.ledger_id, now.revision // max(1, limit // RECOUNTS)
        counted_state, _ = self._results.get(limit, (None, False))
        if counted_state != state:
            self._results[limit] = state, self._ledger.vectors.has_more_than(self._collection, limit)
        _, is_exceeded = self._results[limit]
        return is_exceeded
