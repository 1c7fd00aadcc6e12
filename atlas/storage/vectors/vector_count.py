"""Comparison of a collection's number of vectors with limits, without counting at each query."""

from __future__ import annotations

from atlas.storage.engine import LedgerEngine
from atlas.storage.records import Position

RECOUNTS = 25
"""Number of times that vectors are counted during as many writes as the limit."""


class VectorCount:
    """The number of vectors in one collection."""

    def __init__(self, ledger: LedgerEngine, collection: str) -> None:
        self._ledger = ledger
        self._collection = collection
        self._results: dict[int, tuple[tuple[str, int], bool]] = {}
        """The period of the last count, and whether there were more vectors than the limit, keyed by limit."""

    def exceeds(self, limit: int, position: Position) -> bool:
        """Return whether there are more vectors than the limit.

        Counting takes milliseconds. So the result is counted again only after many writes, and is otherwise cached.
        """
        n_writes_between_counts = max(1, limit // RECOUNTS)
        period = position.ledger_id, position.revision // n_writes_between_counts
        counted_period, _ = self._results.get(limit, (None, False))
        if counted_period != period:
            self._results[limit] = period, self._ledger.vectors.has_more_than(self._collection, limit)
        _, is_exceeded = self._results[limit]
        return is_exceeded
