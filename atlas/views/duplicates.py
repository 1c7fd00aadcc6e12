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

from atlas.analysis.artefacts import CACHE, DuplicatesFile
from atlas.analysis.duplicates import THRESHOLD, DuplicateGroup, Duplicates, near_duplicates
from atlas.analysis.jobs import FindDuplicates
from atlas.analysis.source import read_embedded
from atlas.analysis.worker import JobStatus, Worker
from atlas.memory.system import MemorySystem
from atlas.views.wording import counted

AT_ONCE = 2_000
"""Experiences up to which they are compared while the page waits: a fraction of a second."""

Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDuplicates:
    """What is known of near-duplicates now."""

    groups: Groups = ()
    """Ids that the store holds, at least two a group; largest first."""

    similarities: tuple[float, ...] = ()
    """Lowest cosine within each group."""

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
    _held: Duplicates | None = None
    _scratch: tempfile.TemporaryDirectory[str] | None = None
    _lock: RLock = field(default_factory=RLock)

    def current(self) -> FoundDuplicates:
        """What is known now; a large store that was never looked through is looked through from now on."""
        with self._lock:
            return self._small() if self.memory.experience.count() <= AT_ONCE else self._large()

    def look(self) -> None:
        """Have the worker look through the store anew."""
        self.worker.submit(self._job)

    def _small(self) -> FoundDuplicates:
        revision = self.memory.revision()
        if self._held is None or self._held.revision != revision:
            embedded = read_embedded(self.memory.storage, self._collection)
            groups = self._ended_alike(near_duplicates(embedded))
            self._held = Duplicates(groups=groups, threshold=THRESHOLD, revision=revision)
        return _found(self._held, n_changed=0, status=None)

    def _large(self) -> FoundDuplicates:
        status = self.worker.status(self._job.key)
        held = DuplicatesFile(self._directory(), self._collection).load()
        if held is None:
            status = status or self.worker.submit(self._job)
            return FoundDuplicates(status=None if status.state == "done" else status)
        changes = self.memory.storage.ledger.follow(self._collection, held.revision)
        n_changed = sum(len(entry.vectors) > 0 for entry in changes)
        return _found(replace(held, groups=self._ended_alike(held.groups)), n_changed=n_changed, status=status)

    def _ended_alike(self, groups: Sequence[DuplicateGroup]) -> tuple[DuplicateGroup, ...]:
        """The groups by outcome, without what is gone; largest first."""
        ids = [record_id for group in groups for record_id in group.ids]
        outcomes = self.memory.experience.column("outcome", {"id": {"$in": ids}})
        parts = [part for group in groups for part in _by_outcome(group, outcomes)]
        return tuple(sorted(parts, key=lambda group: (-len(group.ids), -group.similarity_min, group.ids)))

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


def _found(held: Duplicates, *, n_changed: int, status: JobStatus | None) -> FoundDuplicates:
    return FoundDuplicates(
        groups=tuple(group.ids for group in held.groups),
        similarities=tuple(group.similarity_min for group in held.groups),
        n_changed=n_changed,
        status=None if status is not None and status.state == "done" else status,
        is_known=True,
    )
