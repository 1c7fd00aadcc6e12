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
    """Counts of how often searches returned each record, written in batches, so that few searches wait."""

    def __init__(self, ledger: LedgerEngine) -> None:
        self._ledger = ledger
        self._pending: dict[str, Counter[str]] = {}
        self._flush_records = FLUSH_RECORDS
        self._flushed_at = time.monotonic()
        self._lock = threading.Lock()

    def count(self, collection: str, ids: Iterable[str]) -> bool:
        """Count one retrieval of each record. Return whether a `flush` is due."""
        if self._ledger.read_only:
            return False
        with self._lock:
            self._pending.setdefault(collection, Counter()).update(ids)
            n_pending = sum(map(len, self._pending.values()))
            return n_pending >= self._flush_records or time.monotonic() - self._flushed_at > FLUSH_SECONDS

    def flush(self) -> None:
        """Write the counts. If the store refuses them, log a warning, and keep them for a later flush."""
        with self._lock:
            pending, self._pending = self._pending, {}
            self._flush_records, self._flushed_at = FLUSH_RECORDS, time.monotonic()
        try:
            if pending:
                self._ledger.usage.record_retrievals(pending)
        except StoreError as error:
            logger.warning("counts of search hits are not written yet; the next write will retry: %s", error)
            self._restore_counts(pending)

    def _restore_counts(self, pending: Mapping[str, Counter[str]]) -> None:
        """Restore counts after a failed flush, and delay the next flush, so that searches do not wait each time."""
        with self._lock:
            for collection, counts in pending.items():
                self._pending.setdefault(collection, Counter()).update(counts)
            self._flush_records = FLUSH_RECORDS + sum(map(len, self._pending.values()))
            self._flushed_at = time.monotonic()
