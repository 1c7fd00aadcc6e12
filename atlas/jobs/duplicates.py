"""Near-duplicates in the current store, found synchronously in a small store and by the worker in a large one.

Near-duplicates are attempts at the same task with the same outcome, solution and actions. Attempts with the same
outcome but a different solution are repeated attempts: merging them would lose a solution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from atlas.core.schema import decode, encode
from atlas.jobs.artefact import ArtefactFile
from atlas.jobs.job import StoreJob
from atlas.jobs.live import LiveResult
from atlas.jobs.worker import JobStatus, Worker
from atlas.maps.attempts import group_by_task, solution_digests
from atlas.maps.duplicates import THRESHOLD, DuplicateGroup, Duplicates, Progress, duplicate_attempts
from atlas.maps.map import OnProgress
from atlas.maps.snapshot import n_changed, read_embedded
from atlas.memory.system import MemorySystem
from atlas.storage.store import Store

MAX_SYNCHRONOUS = 2_000
"""Maximum number of experiences for a synchronous search, which takes a fraction of a second."""

Groups = tuple[tuple[str, ...], ...]


class DuplicatesFile(ArtefactFile[Duplicates]):
    """The near-duplicates of one collection."""

    kind = "duplicate_attempts"

    def _header(self, artefact: Duplicates) -> Mapping[str, Any]:
        return encode(artefact)

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Duplicates:
        fields = {"digests": None, **header}  # an old file without digests is recomputed
        return decode(Duplicates, fields, "duplicates", strict=True)


def find_duplicates(
    store: Store, collection: str, threshold: float = THRESHOLD, on_progress: Progress | None = None
) -> Duplicates:
    """Return the near-duplicates of the current collection."""
    with store.reading():  # one snapshot of the store
        embedded = read_embedded(store, collection)
        groups = duplicate_attempts(embedded, group_by_task(store, collection, embedded.ids), threshold, on_progress)
        digests = solution_digests(store, collection, [record_id for group in groups for record_id in group.ids])
    return Duplicates(
        groups=groups,
        digests=digests,
        threshold=threshold,
        revision=embedded.revision,
        ledger_id=embedded.ledger_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatesJob(StoreJob):
    """Job that finds the near-duplicates of a collection, and saves them as a `DuplicatesFile`."""

    collection: str
    threshold: float = THRESHOLD

    def file(self) -> DuplicatesFile:
        """Return the file of the groups."""
        return DuplicatesFile(Path(self.output), self.collection)

    def make(self, on_progress: OnProgress, file: ArtefactFile[Any]) -> Duplicates:
        """Compare the attempts at each task."""
        on_progress(0, 100, "reading")
        with Store.open(self.store, read_only=True) as store:
            return find_duplicates(
                store, self.collection, self.threshold, lambda done, total: on_progress(done, total, "comparing")
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatesResult:
    """The near-duplicates found so far."""

    groups: Groups = ()
    """Ids of existing records, at least two in each group, largest group first."""

    repeated: Groups = ()
    """Groups of attempts at one task with the same outcome but different solutions or actions, sorted like `groups`."""

    n_changed: int = 0
    """Number of experiences that have been added or changed since the search."""

    status: JobStatus | None = None
    """Progress of the worker while it is searching, or its failure."""

    is_known: bool = False
    """True once a search has finished."""

    @property
    def is_running(self) -> bool:
        """True during a search."""
        return self.status is not None and self.status.state in ("queued", "running")

    @property
    def problem(self) -> str:
        """Reason why the search failed, or empty."""
        return self.status.message if self.status is not None and self.status.state == "failed" else ""


_ResultKey = tuple[str, int, int]
"""Ledger id, revision of the ledger, and modification time of the result's file."""


class LiveDuplicates(LiveResult[Duplicates]):
    """The near-duplicates of one store, shared by all viewers."""

    def __init__(self, memory: MemorySystem, worker: Worker, max_synchronous: int = MAX_SYNCHRONOUS) -> None:
        super().__init__(memory, worker)
        self.max_synchronous = max_synchronous
        self._result: tuple[_ResultKey, DuplicatesResult] | None = None

    def latest(self) -> DuplicatesResult:
        """Return the result of the latest search. In a large store, the first call starts a search."""
        with self._lock:
            return self._search_by_worker() if self.is_searched_by_worker() else self._search_now()

    def is_searched_by_worker(self) -> bool:
        """Return whether the worker searches the store, because it is too large for a search at each read."""
        return self.memory.storage.ledger.has_more_than(self._collection, self.max_synchronous)

    def search_again(self) -> None:
        """Start a new search."""
        self._start_search()

    def file(self, directory: Path) -> DuplicatesFile:
        """Return the file of the groups."""
        return DuplicatesFile(directory, self._collection)

    @property
    def _collection(self) -> str:
        return self.memory.experience.collection_name

    def _search_now(self) -> DuplicatesResult:
        """Return the near-duplicates of a small store, searched again after each change."""
        key = self._current_key(0)
        if self._result is None or self._result[0] != key:
            duplicates = find_duplicates(self.memory.storage, self._collection)
            self._result = (key, self._split_groups(duplicates, n_changed=0))
        return self._result[1]

    def _search_by_worker(self) -> DuplicatesResult:
        """Return the saved result of the worker, without records that were deleted since.

        Start a search if there is no result for this store and model, and none was started.
        """
        status, saved = self.status(), self.saved()
        key, duplicates = self._current_key(saved.written_at), saved.result
        is_done = status is not None and status.state == "done"
        if duplicates is None or duplicates.ledger_id != key[0]:
            is_of_other_store = duplicates is not None and (status is None or is_done)  # from another store or model
            status = self._start_search() if is_of_other_store or status is None else status
            return DuplicatesResult(status=None if status.state == "done" else status)
        if self._result is None or self._result[0] != key:
            n_changed_since = n_changed(self.memory.storage, self._collection, duplicates.revision)
            self._result = (key, self._split_groups(duplicates, n_changed=n_changed_since))
        return replace(self._result[1], status=None if is_done else status)

    def _start_search(self) -> JobStatus:
        return self._submit(DuplicatesJob(**self._job_arguments, collection=self._collection))

    def _current_key(self, written_at: int) -> _ResultKey:
        ledger = self.memory.storage.ledger
        return ledger.position(self._collection).ledger_id, ledger.revision(), written_at

    def _split_groups(self, duplicates: Duplicates, n_changed: int) -> DuplicatesResult:
        """Return the groups split by outcome and then by solution, without deleted records, largest first."""
        ids = [record_id for group in duplicates.groups for record_id in group.ids]
        outcomes = self.memory.experience.column("outcome", {"id": {"$in": ids}})
        groups = [subgroup for group in duplicates.groups for subgroup in _split_by_label(group, outcomes)]
        repeated = [
            group
            for group in groups
            if len({duplicates.digests.get(record_id, record_id) for record_id in group.ids}) > 1
        ]
        return DuplicatesResult(
            groups=_ids_largest_first(
                [subgroup for group in groups for subgroup in _split_by_label(group, duplicates.digests)]
            ),
            repeated=_ids_largest_first(repeated),
            n_changed=n_changed,
            is_known=True,
        )


def _split_by_label(group: DuplicateGroup, labels: Mapping[str, str]) -> Iterator[DuplicateGroup]:
    """Yield a subgroup for each label that several members of a group share. Members without a label are left out."""
    ids_by_label: dict[str, list[str]] = {}
    for record_id in group.ids:
        if record_id in labels:
            ids_by_label.setdefault(labels[record_id], []).append(record_id)
    for ids in ids_by_label.values():
        if len(ids) > 1:
            yield replace(group, ids=tuple(ids))


def _ids_largest_first(groups: Sequence[DuplicateGroup]) -> Groups:
    ordered = sorted(groups, key=lambda group: (-len(group.ids), -group.similarity_min, group.ids))
    return tuple(group.ids for group in ordered)
