"""Near-duplicates as the store is now: found at once where it is small, by a worker where it is large.

Attempts at one task read alike and may have ended differently, which is the most telling thing about them: only those
that ended alike are offered as a group.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock

from atlas.jobs.artefact import CACHE, DuplicatesFile
from atlas.jobs.job import FindDuplicates
from atlas.jobs.worker import JobStatus, Worker
from atlas.maps.duplicates import DuplicateGroup, Duplicates, near_duplicates
from atlas.maps.snapshot import n_changed, read_embedded
from atlas.memory.system import MemorySystem
from atlas.views.shared.state import StoreState, store_state
from atlas.views.shared.wording import counted

AT_ONCE = 2_000
"""Experiences up to which they are compared while the page waits: a fraction of a second."""

Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDuplicates:
    """What is known of near-duplicates now."""

    groups: Groups = ()
    """Ids that the store holds, at least two a group; largest first."""

    n_changed: int = 0
    """Experiences that were added or changed since they were looked for."""

    status: JobStatus | None = None
    """How far the worker is, while it is looking or where it failed."""

    is_known: bool = False
    """Whether they have been looked for at all."""

    @property
    def is_running(self) -> bool:
        """Whether they are being looked for."""
        return self.status is not None and self.status.state in ("queued", "running")

    @property
    def problem(self) -> str:
        """Why they could not be looked for; empty where nothing went wrong."""
        return self.status.message if self.status is not None and self.status.state == "failed" else ""

    @property
    def staleness(self) -> str:
        """What has come since, in words of our own; empty where nothing has."""
        return f"{counted(self.n_changed, 'experience')} came or changed since they were looked for."


@dataclass(slots=True)
class LiveDuplicates:
    """The near-duplicates of one store, shared by all who look at it."""

    memory: MemorySystem
    worker: Worker
    at_once: int = AT_ONCE
    _file: tuple[int, Duplicates | None] = (0, None)
    """When the file that was read last was written, in nanoseconds, and what it said."""

    _held: tuple[tuple[StoreState, int], FoundDuplicates] | None = None
    """What was worked out last, and from which state of the store and of the file."""

    _scratch: tempfile.TemporaryDirectory[str] | None = None
    _lock: RLock = field(default_factory=RLock)

    def current(self) -> FoundDuplicates:
        """What is known now; a large store that was never looked through is looked through from now on."""
        with self._lock:
            is_large = self.memory.storage.ledger.holds_more_than(self._collection, self.at_once)
            return self._large() if is_large else self._small()

    def look(self) -> None:
        """Have the worker look through the store anew."""
        self.worker.submit(self._job)

    def close(self) -> None:
        """Let go of what was kept for a store that must not be written."""
        with self._lock:
            if self._scratch is not None:
                self._scratch.cleanup()
                self._scratch = None

    def _small(self) -> FoundDuplicates:
        asked = (store_state(self.memory), 0)
        if self._held is None or self._held[0] != asked:
            groups = near_duplicates(read_embedded(self.memory.storage, self._collection))
            self._held = (asked, self._found(groups, n_changed=0))
        return self._held[1]

    def _large(self) -> FoundDuplicates:
        state, status = store_state(self.memory), self.worker.status(self._job.key)
        read = self._read()
        if read is None or read.ledger_id != state.ledger_id:
            is_other = read is not None and (status is None or status.state == "done")  # of another store or model
            status = self.worker.submit(self._job) if is_other or status is None else status
            return FoundDuplicates(status=None if status.state == "done" else status)
        asked = (state, self._file[0])
        if self._held is None or self._held[0] != asked:
            n_since = n_changed(self.memory.storage, self._collection, read.revision)
            self._held = (asked, self._found(read.groups, n_changed=n_since))
        return replace(self._held[1], status=None if status is not None and status.state == "done" else status)

    def _read(self) -> Duplicates | None:
        """What the worker has found last; read once."""
        file = DuplicatesFile(self._directory(), self._collection)
        written_at = file.path.stat().st_mtime_ns if file.path.exists() else 0
        if written_at != self._file[0]:
            self._file = (written_at, file.load())
        return self._file[1]

    def _found(self, groups: Sequence[DuplicateGroup], n_changed: int) -> FoundDuplicates:
        """The groups by outcome, without what is gone; largest first."""
        ids = [record_id for group in groups for record_id in group.ids]
        outcomes = self.memory.experience.column("outcome", {"id": {"$in": ids}})
        parts = [part for group in groups for part in _by_outcome(group, outcomes)]
        parts.sort(key=lambda group: (-len(group.ids), -group.similarity_min, group.ids))
        return FoundDuplicates(groups=tuple(part.ids for part in parts), n_changed=n_changed, is_known=True)

    @property
    def _collection(self) -> str:
        return self.memory.experience.collection_name

    @property
    def _job(self) -> FindDuplicates:
        store = str(self.memory.storage.path.resolve())
        return FindDuplicates(store=store, out=str(self._directory()), collection=self._collection)

    def _directory(self) -> Path:
        """Where the worker leaves what it finds: in the store, or elsewhere where that must not be written."""
        if not self.memory.storage.read_only:
            return self.memory.storage.path.resolve() / CACHE
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="atlas-duplicates-")
        return Path(self._scratch.name)


def _by_outcome(group: DuplicateGroup, outcomes: Mapping[str, str]) -> Iterator[DuplicateGroup]:
    members: dict[str, list[str]] = {}
    for record_id in group.ids:
        if record_id in outcomes:
            members.setdefault(outcomes[record_id], []).append(record_id)
    for ids in members.values():
        if len(ids) > 1:
            yield replace(group, ids=tuple(ids))
