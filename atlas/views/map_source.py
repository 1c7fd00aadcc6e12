"""The map that the pages show: made at once, made better by a worker, and kept up with the store."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock

from atlas.analysis.artefacts import CACHE, MapFile
from atlas.analysis.maps import MemoryMap, extended, make_map, preview, regrouped
from atlas.analysis.names import DomainNames
from atlas.analysis.source import Embedded, read_embedded
from atlas.analysis.worker import FitMap, JobStatus, Worker
from atlas.memory.experience import COLLECTION
from atlas.memory.system import MemorySystem

__all__ = ["AT_ONCE", "JobStatus", "LiveMap", "MemoryMap", "Worker"]

AT_ONCE = 1_000
"""Experiences up to which the whole map is made at once; of more, a sketch is shown until the worker has made it."""

REGROUPED = 4
"""Groupings of the same map, for other smallest domains, that are kept."""


@dataclass(slots=True)
class LiveMap:
    """The map of one store, shared by all who look at it.

    It follows the store: what is added is placed among what is there, which never moves, and what is deleted goes.
    """

    memory: MemorySystem
    worker: Worker
    _map: MemoryMap | None = None
    _file_written_at: int = 0
    """In nanoseconds; 0 where the map came from no file."""

    _regrouped: dict[int, MemoryMap] = field(default_factory=dict)
    _named: dict[tuple[int, int], tuple[MemoryMap, MemoryMap]] = field(default_factory=dict)
    _scratch: tempfile.TemporaryDirectory[str] | None = None
    _job: FitMap | None = None
    _lock: RLock = field(default_factory=RLock)

    def current(self, min_domain_size: int = 0, *, is_sketched: bool = True) -> MemoryMap | None:
        """The map as the store is now; None where the store is empty.

        Args:
            min_domain_size: Fewest records of a domain; 0 leaves it as the map was made.
            is_sketched: Whether a sketch is made of a large store that has no map, which takes seconds; else None.
        """
        with self._lock:
            found = self._newest()
            if found is None and (is_sketched or self.memory.experience.count() <= AT_ONCE):
                found = self._first()
            self._map = self._followed(found) if found is not None else None
            return self._called_by_name(self._grouped(min_domain_size)) if self._map is not None else None

    @property
    def names(self) -> DomainNames:
        """What people have called the domains."""
        return DomainNames(self.memory.storage.path, COLLECTION)

    def refit(self, min_domain_size: int = 0) -> None:
        """Have the worker make the map anew; it is shown once it is there."""
        store, out = str(self.memory.storage.path), str(self._directory())
        self._job = FitMap(store=store, out=out, collection=COLLECTION, min_domain_size=min_domain_size)
        self.worker.submit(self._job)

    def refitting(self) -> JobStatus | None:
        """How far the worker is; None where the map was never asked for, or not any more."""
        return self.worker.status(self._job.key) if self._job else None

    def cancel_refit(self) -> None:
        """Leave the map as it is."""
        if self._job:
            self.worker.cancel(self._job.key)

    def needs_worker(self) -> bool:
        """Whether there is only a sketch so far, and nobody was asked for more."""
        return self._map is not None and not self._map.domains and len(self._map.ids) > AT_ONCE and self._job is None

    def close(self) -> None:
        """Let go of what was kept for a store that must not be written."""
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def _directory(self) -> Path:
        """Where the map is kept: beside the store, or for a while elsewhere where the store must not be written."""
        if not self.memory.storage.read_only:
            return self.memory.storage.path / CACHE
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="atlas-map-")
        return Path(self._scratch.name)

    def _newest(self) -> MemoryMap | None:
        """The map that is held, or the one that was written since."""
        scratch = [Path(self._scratch.name)] if self._scratch is not None else []
        for directory in [self.memory.storage.path / CACHE, *scratch]:
            file = MapFile(directory, COLLECTION)
            written_at = file.path.stat().st_mtime_ns if file.path.exists() else 0
            if written_at > self._file_written_at:
                self._file_written_at = written_at
                self._regrouped = {}
                self._map = file.load() or self._map
        return self._map

    def _first(self) -> MemoryMap | None:
        """A map of a store that has none."""
        embedded = self._embedded()
        if not embedded.ids:
            return None
        if len(embedded.ids) > AT_ONCE:
            return preview(embedded)
        found = make_map(embedded)
        if not self.memory.storage.read_only:
            file = MapFile(self._directory(), COLLECTION)
            file.save(found)
            self._file_written_at = file.path.stat().st_mtime_ns
        return found

    def _followed(self, found: MemoryMap) -> MemoryMap | None:
        """The map as the store is now."""
        revision = self.memory.revision()
        if found.revision == revision:
            return found
        self._regrouped = {}
        ids = self.memory.experience.ids()
        if not ids:
            return None
        return replace(found, revision=revision) if set(ids) == set(found.ids) else extended(found, self._embedded())

    def _grouped(self, min_domain_size: int) -> MemoryMap | None:
        found = self._map
        if found is None or not found.domains or min_domain_size in (0, found.recipe.min_domain_size):
            return found
        if min_domain_size not in self._regrouped:
            kept = list(self._regrouped.items())[1 - REGROUPED :]
            self._regrouped = {**dict(kept), min_domain_size: regrouped(found, self._embedded(), min_domain_size)}
        return self._regrouped[min_domain_size]

    def _called_by_name(self, found: MemoryMap | None) -> MemoryMap | None:
        """The map with the names that people gave; worked out again only when either has changed."""
        if found is None:
            return None
        path = self.names.path
        key = (id(found), path.stat().st_mtime_ns if path.exists() else 0)
        if key not in self._named:
            kept = list(self._named.items())[1 - REGROUPED :]
            self._named = {**dict(kept), key: (found, self.names.apply(found))}  # held, so that no other gets its id
        return self._named[key][1]

    def _embedded(self) -> Embedded:
        return read_embedded(self.memory.storage, COLLECTION)
