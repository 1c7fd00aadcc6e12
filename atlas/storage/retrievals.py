"""How often searches return each record, counted in memory and written in batches."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from atlas.core.errors import StoreError
from atlas.storage.engine import LedgerEngine

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 30.0
FLUSH_RECORDS = 500


class RetrievalLog:
    """Counts of search hits, written in batches: few searches should wait for the disk."""

    def __init__(self, ledger: LedgerEngine) -> None:
        self._ledger = ledger
        self._waiting: dict[str, Counter[str]] = {}
        self._flush_records = FLUSH_RECORDS
        self._flushed_at = time.monotonic()
        self._lock = threading.Lock()

    def note(self, collection: str, ids: Iterable[str]) -> bool:
        """Count these records as returned once more. Return whether it is time for a `flush`."""
        if self._ledger.read_only:
            return False
        with self._lock:
            self._waiting.setdefault(collection, Counter()).update(ids)
            n_waiting = sum(map(len, self._waiting.values()))
            return n_waiting >= self._flush_records or time.monotonic() - self._flushed_at > FLUSH_SECONDS

    def flush(self) -> None:
        """Write the counts. Counts that the store refuses are kept for a later flush, with a warning."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._flush_records, self._flushed_at = FLUSH_RECORDS, time.monotonic()
        try:
            if waiting:
                self._ledger.usage.record_retrievals(waiting)
        except StoreError as error:
            logger.warning("what searches returned is not counted in the store yet: %s", error)
            self._keep(waiting)

    def _keep(self, waiting: Mapping[str, Counter[str]]) -> None:
        """Restore counts after a failed flush, and delay the next flush, so that searches do not wait each time."""
        with self._lock:
            for collection, counts in waiting.items():
                self._waiting.setdefault(collection, Counter()).update(counts)
            self._flush_records = FLUSH_RECORDS + sum(map(len, self._waiting.values()))
            self._flushed_at = time.monotonic()
