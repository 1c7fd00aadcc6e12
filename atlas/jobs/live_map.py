"""The map on the pages: sketched immediately, refined by the worker, and updated with the store."""

from __future__ import annotations

import logging
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from atlas.core.errors import AtlasError
from atlas.jobs.live import LiveResult
from atlas.jobs.map import MapFile, MapJob
from atlas.jobs.worker import Worker
from atlas.maps.labels import DomainNames
from atlas.maps.map import MemoryMap, extend, make_map, preview, regroup
from atlas.maps.snapshot import EmbeddedRecords, read_embedded, reread
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.system import MemorySystem

MAX_SYNCHRONOUS = 1_000
"""Maximum number of experiences for a synchronous map. For more, a sketch is shown until the worker is done."""

MAX_GROUPINGS = 4
"""Maximum number of cached groupings of a map, by minimum domain size."""

_log = logging.getLogger("atlas.dashboard")


class LiveMap(LiveResult[MemoryMap]):
    """The map of one store, shared by all viewers.

    The map is updated with the store: new records are placed among the existing ones, which never move, and deleted
    ones are removed. For a large store this takes seconds, and can be done in the background while callers use the
    previous map.
    """

    def __init__(self, memory: MemorySystem, worker: Worker, max_synchronous: int = MAX_SYNCHRONOUS) -> None:
        super().__init__(memory, worker)
        self.max_synchronous = max_synchronous
        self.n_background_updates = 0
        """Number of background updates."""

        self._map: MemoryMap | None = None
        self._file_mtime_ns = 0  # 0 if the map is not from a file
        self._maps_by_domain_size: dict[int, MemoryMap] = {}
        self._maps_with_names: dict[tuple[int, str], tuple[MemoryMap, MemoryMap]] = {}
        self._embedded: EmbeddedRecords | None = None  # the last snapshot, for incremental reads
        self._update_thread: threading.Thread | None = None
        self._work_lock = threading.RLock()  # for reading and comparing vectors, which may be slow

    def file(self, directory: Path) -> MapFile:
        """Return the file of the map."""
        return MapFile(directory, COLLECTION)

    def latest(self, min_domain_size: int = 0, *, is_awaited: bool = True) -> MemoryMap | None:
        """Return the map, or None if the store is empty or there is no map yet.

        Args:
            min_domain_size: Minimum number of records of a domain; 0 for the map's own.
            is_awaited: Whether to wait until the map is up to date, or for a sketch if there is none. Otherwise the
                previous map of a large store is returned, and updated in the background.
        """
        if is_awaited or not self._is_large():
            self._update_or_make(min_domain_size)
        elif self._load_newest() is not None and not self._is_up_to_date(min_domain_size):
            self._update_in_background(min_domain_size)
        with self._lock:
            memory_map = self._map
            if memory_map is not None and self._has_other_domain_size(memory_map, min_domain_size):
                memory_map = self._maps_by_domain_size.get(min_domain_size, memory_map)
            return self._with_names(memory_map) if memory_map is not None else None

    def has_map(self) -> bool:
        """Return whether there is a map, possibly outdated."""
        return self._load_newest() is not None

    def begin(self, min_domain_size: int = 0) -> None:
        """Make the first map in the background."""
        if not self.has_map():
            self._update_in_background(min_domain_size)

    @property
    def names(self) -> DomainNames:
        """Names of domains given by users."""
        return DomainNames.of(self.memory.storage, COLLECTION)

    def refit(self, min_domain_size: int = 0, engine: str = "umap") -> None:
        """Submit a job that fits a new map, which replaces the current map when the job is done."""
        self._submit(
            MapJob(**self._job_arguments, collection=COLLECTION, engine=engine, min_domain_size=min_domain_size)
        )

    def is_worker_needed(self) -> bool:
        """Return whether a job is needed: there is only a sketch, or a map of another embedding model."""
        memory_map = self._map
        if memory_map is None or self._job is not None or len(memory_map.ids) <= self.max_synchronous:
            return False
        return not memory_map.domains or memory_map.recipe.model != self._model()

    def close(self) -> None:
        """Release the snapshot, and delete the temporary results of a read-only store."""
        self.wait()  # the update reads the store, which is about to be closed
        with self._lock:
            self._embedded = None
        super().close()

    def wait(self) -> None:
        """Wait until background updates have finished."""
        if self._update_thread is not None:
            self._update_thread.join()

    def _load_newest(self) -> MemoryMap | None:
        """Return the cached map, or a newer saved map. None if there is no map, or if a purge made it invalid."""
        with self._lock:
            saved = self.saved()
            if saved.written_at > self._file_mtime_ns:
                self._map = saved.result or self._map
                self._file_mtime_ns = saved.written_at
                self._maps_by_domain_size = {}
            if self._map is not None and self._is_purged(self._map):
                self._map, self._maps_by_domain_size, self._maps_with_names = None, {}, {}
            return self._map

    def _is_purged(self, memory_map: MemoryMap) -> bool:
        """Return whether a purge deleted the map's file, because domain names may contain purged text."""
        if self.memory.storage.ledger.position(COLLECTION).ledger_id == memory_map.ledger_id:
            return False
        return not self._stored_file().written_at

    def _update_or_make(self, min_domain_size: int) -> None:
        """Update the map, or make the first one."""
        with self._work_lock:
            current_map = self._load_newest()
            with self._lock_first_map() if current_map is None else nullcontext():
                current_map = current_map or self._load_newest()  # another server may have created it in the meantime
                memory_map = (
                    self._make_first()
                    if current_map is None or self._should_remake(current_map)
                    else self._update(current_map)
                )
            with self._lock:
                if self._map is not current_map:
                    return  # the worker has written a new one in the meantime, which the next run updates
                self._map = memory_map
            if memory_map is not None and self._has_other_domain_size(memory_map, min_domain_size):
                self._regroup(memory_map, min_domain_size)

    def _lock_first_map(self) -> AbstractContextManager[object]:
        """Return a context manager that locks the making of the store's first map against other servers."""
        storage = self.memory.storage
        shared = storage.ledger.shared if not storage.read_only else None
        return shared.locked("first map") if shared is not None else nullcontext()

    def _update_in_background(self, min_domain_size: int) -> None:
        """Update the map in a thread, unless one is running."""

        def update() -> None:
            try:
                self._update_or_make(min_domain_size)
                self.n_background_updates += 1
            except Exception as error:  # noqa: BLE001 - the thread's top: the map stays, and the next run tries again
                _log.warning("the map cannot be updated: %s", error, exc_info=not isinstance(error, AtlasError))

        with self._lock:
            if self._update_thread is None or not self._update_thread.is_alive():
                self._update_thread = threading.Thread(target=update, name="atlas-map", daemon=True)
                self._update_thread.start()

    def _make_first(self) -> MemoryMap | None:
        """Return the first map of a store, or None if it has no experiences."""
        embedded = self._read_embedded()
        if not embedded.ids:
            return None
        if len(embedded.ids) > self.max_synchronous:
            return preview(embedded)
        memory_map = make_map(embedded, previous=self._map)
        self._maps_by_domain_size = {}
        if not self.memory.storage.read_only:
            self._file_mtime_ns = self._save(memory_map).written_at
        return memory_map

    def _update(self, memory_map: MemoryMap) -> MemoryMap | None:
        """Return the updated map, or None if no experiences are left. Vectors are only read after a change."""
        if not self._is_behind(memory_map):
            return memory_map
        embedded = self._read_embedded()
        fitted = self.current()
        if fitted is not None and (fitted.recipe, fitted.ledger_id) != (memory_map.recipe, memory_map.ledger_id):
            fitted = None
        return extend(memory_map, embedded, fitted) if embedded.ids else None

    def _regroup(self, memory_map: MemoryMap, min_domain_size: int) -> None:
        """Find the map's domains for another minimum size. They are cached, and updated with the store."""
        previous_grouping = self._maps_by_domain_size.get(min_domain_size)
        regrouped = self._update(previous_grouping) if previous_grouping is not None else None
        regrouped = regrouped or regroup(memory_map, self._read_embedded(), min_domain_size)
        with self._lock:
            if self._map is memory_map:
                other_groupings = {
                    size: grouping for size, grouping in self._maps_by_domain_size.items() if size != min_domain_size
                }
                newest_groupings = dict(list(other_groupings.items())[1 - MAX_GROUPINGS :])
                self._maps_by_domain_size = {**newest_groupings, min_domain_size: regrouped}

    def _is_up_to_date(self, min_domain_size: int) -> bool:
        """Return whether the cached map is up to date."""
        memory_map = self._map
        if memory_map is not None and self._has_other_domain_size(memory_map, min_domain_size):
            memory_map = self._maps_by_domain_size.get(min_domain_size)
        return memory_map is not None and not self._is_behind(memory_map)

    def _is_behind(self, memory_map: MemoryMap) -> bool:
        """Return whether experiences, ignoring marks, have changed since the map, or the store was restored."""
        position = self.memory.storage.ledger.position(COLLECTION)
        return position.ledger_id != memory_map.ledger_id or position.revision > memory_map.revision

    def _is_large(self) -> bool:
        return self.memory.storage.ledger.has_more_than(COLLECTION, self.max_synchronous)

    def _should_remake(self, memory_map: MemoryMap) -> bool:
        """Return whether to make a new map at once: the model is another one, and the store is small."""
        return memory_map.recipe.model != self._model() and not self._is_large()

    def _model(self) -> str:
        model = self.memory.storage.model
        return model.name if model is not None else ""

    def _has_other_domain_size(self, memory_map: MemoryMap, min_domain_size: int) -> bool:
        return bool(memory_map.domains) and min_domain_size not in (0, memory_map.recipe.min_domain_size)

    def _with_names(self, memory_map: MemoryMap) -> MemoryMap:
        """Return the map with the users' names, cached until either changes."""
        names = self.names
        key = (id(memory_map), names.state())
        if key not in self._maps_with_names:
            newest_entries = list(self._maps_with_names.items())[1 - MAX_GROUPINGS :]
            self._maps_with_names = {
                **dict(newest_entries),
                key: (memory_map, names.apply(memory_map)),
            }  # keeps the object alive, so that its id is not reused
        return self._maps_with_names[key][1]

    def _read_embedded(self) -> EmbeddedRecords:
        """Return the current vectors of the store, reading only those that have changed since the last call."""
        cached, storage = self._embedded, self.memory.storage
        embedded = read_embedded(storage, COLLECTION) if cached is None else reread(storage, COLLECTION, cached)
        self._embedded = embedded
        return embedded
