"""The number of vectors in a collection, compared with limits without counting them at each query."""

from __future__ import annotations

from atlas.storage.engine import LedgerEngine
from atlas.storage.records import Position

RECOUNTS = 25
"""How often a collection's vectors are counted while it is written as often as the limit."""


class VectorCount:
    """The number of vectors in one collection."""

    def __init__(self, ledger: LedgerEngine, collection: str) -> None:
        self._ledger = ledger
        self._collection = collection
        self._exceeded: dict[int, tuple[tuple[str, int], bool]] = {}
        """By limit: the state of the ledger at the last count, and whether there were more."""

    def exceeds(self, limit: int, now: Position) -> bool:
        """Return whether there are more vectors than the limit. Counting takes milliseconds, so it is done rarely."""
        at = now.ledger_id, now.revision // max(1, limit // RECOUNTS)
        if self._exceeded.get(limit, (None, False))[0] != at:
            self._exceeded[limit] = at, self._ledger.vectors.exceed(self._collection, limit)
        return self._exceeded[limit][1]
