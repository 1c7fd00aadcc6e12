"""The findings of a scan in the current store, shared by all viewers.

Only records added or changed since the last call are scanned: a few immediately, and many in a thread. The signs of
the whole store are searched again after a change, in a large store at most once a minute.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from atlas.core.errors import AtlasError
from atlas.infra.actor import acting_on_all_records
from atlas.memory.effects.scan import BATCH, Finding, scan_record, sort_worst_first, with_signs
from atlas.memory.effects.store_signs import signs_of_store
from atlas.memory.kinds.table import searchable_kinds
from atlas.memory.system import MemorySystem
from atlas.scanning.text import SUSPICIOUS

MAX_SYNCHRONOUS = 400
"""Maximum number of records that are scanned synchronously, which takes less than a second."""

SIGNS_SECONDS = 60.0
"""Minimum time between two searches of a large store for its signs."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanState:
    """The findings of a scan so far."""

    findings: tuple[Finding, ...] = ()
    """The records with signs of an attack, worst first. Some may have been deleted since."""

    n_left: int = 0
    """Number of records that are not scanned yet."""


@dataclass(slots=True)
class _MemoryState:
    """The progress of the scan in one memory, and its findings."""

    ledger_id: str
    revision: int
    """Revision of the newest record that was listed."""

    pending: list[str]
    findings: dict[str, Finding]


class LiveScan:
    """The findings of a scan of one store, updated with the store."""

    def __init__(self, memory: MemorySystem, max_synchronous: int = MAX_SYNCHRONOUS) -> None:
        self._memory = memory
        self._max_synchronous = max_synchronous
        self._states: dict[str, _MemoryState] = {}
        self._findings_with_signs: dict[tuple[str, str], Finding] = {}
        """The records with signs of the whole store."""
        self._signs_revisions: list[tuple[str, int]] = []
        """The revisions of the memories at the last search for signs of the whole store."""
        self._next_signs_at = 0.0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def latest(self) -> ScanState:
        """Return the findings so far. Many new records are scanned in a thread, which the first call starts."""
        with self._lock, acting_on_all_records():
            for name in searchable_kinds():
                self._queue_changed(name)
            if self._n_left() <= self._max_synchronous:
                while self._scan_batch():
                    pass
            is_outdated = self._are_signs_outdated()
            if is_outdated and self._is_small():
                self._find_signs()
            elif (self._n_left() or is_outdated) and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._scan_all, name="atlas-scan", daemon=True)
                self._thread.start()
            return self._current_state()

    def wait(self) -> None:
        """Wait until the thread has scanned all records."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop the background scan."""
        with self._lock:
            for state in self._states.values():
                state.pending.clear()
        self.wait()

    def _scan_all(self) -> None:
        """Scan all pending records in a thread, then search for signs of the whole store."""
        has_more = True
        while has_more:
            try:
                with self._lock:
                    has_more = self._scan_batch()
                if not has_more:
                    self._find_signs()
            except AtlasError as error:  # the thread's top: the next call tries again
                logger.warning("the scan of the records stopped: %s", error)
                return

    def _queue_changed(self, name: str) -> None:
        """Mark the changed records of a memory as pending, and drop their findings.

        These are the records that were added or changed since the last call.
        """
        records, ledger = searchable_kinds()[name].records(self._memory), self._memory.storage.ledger
        position = ledger.position(records.collection_name)
        state = self._states.get(name)
        if state is None or state.ledger_id != position.ledger_id:
            self._states[name] = _MemoryState(position.ledger_id, position.revision, records.ids(), {})
        elif state.revision < position.revision:
            changed_ids = ledger.changed_ids(records.collection_name, state.revision)
            for record_id in changed_ids:
                state.findings.pop(record_id, None)
            state.revision, state.pending = position.revision, list(dict.fromkeys([*state.pending, *changed_ids]))

    def _scan_batch(self) -> bool:
        """Check a batch of records of one memory, and return whether there were any records to check."""
        for name, state in self._states.items():
            if state.pending:
                batch = state.pending[:BATCH]
                for record in searchable_kinds()[name].records(self._memory).get_many(batch):
                    finding = scan_record(name, record)
                    if finding.score >= SUSPICIOUS:
                        state.findings[record.id] = finding
                state.pending = state.pending[BATCH:]  # after the batch, which is scanned again if it failed
                return True
        return False

    def _is_small(self) -> bool:
        counts: list[int] = [kind.records(self._memory).count() for kind in searchable_kinds().values()]
        return sum(counts) <= self._max_synchronous

    def _revisions(self) -> list[tuple[str, int]]:
        return [(state.ledger_id, state.revision) for state in self._states.values()]

    def _are_signs_outdated(self) -> bool:
        if self._revisions() == self._signs_revisions:
            return False
        return self._is_small() or time.monotonic() >= self._next_signs_at

    def _find_signs(self) -> None:
        """Search for signs that need a scan of the whole store, and cache the records with any."""
        revisions = self._revisions()
        findings = dict[tuple[str, str], Finding]()
        for (name, record_id), reasons in signs_of_store(self._memory).items():
            title = searchable_kinds()[name].records(self._memory).titles([record_id]).get(record_id, "")
            without_signs = Finding(memory=name, id=record_id, title=title, score=0.0, reasons=())
            findings[name, record_id] = with_signs(without_signs, reasons)
        self._findings_with_signs = findings
        self._signs_revisions, self._next_signs_at = revisions, time.monotonic() + SIGNS_SECONDS

    def _current_state(self) -> ScanState:
        findings = dict(self._findings_with_signs)
        for name, state in self._states.items():
            for record_id, finding in state.findings.items():
                store_finding = findings.get((name, record_id))
                findings[name, record_id] = with_signs(
                    finding, store_finding.reasons if store_finding is not None else ()
                )
        return ScanState(findings=tuple(sort_worst_first([*findings.values()])), n_left=self._n_left())

    def _n_left(self) -> int:
        return sum(len(state.pending) for state in self._states.values())
