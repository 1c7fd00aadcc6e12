"""The latest result of a job, shared by all viewers: read from its file, and recomputed by the worker."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Generic, TypeVar

from atlas.jobs.artefact import CACHE, ArtefactFile
from atlas.jobs.job import Job
from atlas.jobs.worker import JobStatus, Worker
from atlas.memory.system import MemorySystem

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedResult(Generic[T]):
    """The last read content of a result's file."""

    result: T | None = None
    """The decoded result, or None if the file is missing or unreadable."""

    written_at: int = 0
    """Modification time of the file, in nanoseconds since 1970, or 0 if it is missing."""


class LiveResult(ABC, Generic[T]):
    """The latest result of one kind of job on one store.

    The result's file is in the store's directory. New results of a read-only store go to a temporary directory, and the
    newer of both files is used. Several servers of one store share their latest result.
    """

    def __init__(self, memory: MemorySystem, worker: Worker) -> None:
        self.memory = memory
        self.worker = worker
        self._job: Job | None = None
        self._saved: SavedResult[T] = SavedResult()
        self._temporary_directory: tempfile.TemporaryDirectory[str] | None = None
        self._lock = RLock()

    @abstractmethod
    def file(self, directory: Path) -> ArtefactFile[T]:
        """Return the file of the job in a directory."""

    def current(self) -> T | None:
        """Return the latest result, or None if there is none."""
        return self.saved().result

    def saved(self) -> SavedResult[T]:
        """Return the latest saved result. The file is only read if it has changed."""
        with self._lock:
            newest_file = self._newest_file()
            # Taken before reading, so that concurrent changes are read at the next call.
            written_at = newest_file.written_at
            if written_at != self._saved.written_at:
                self._saved = SavedResult(result=newest_file.load(), written_at=written_at)
            return self._saved

    @property
    def written_at(self) -> int:
        """Time of the latest saved result, in nanoseconds since 1970, or 0 without one. The result is not loaded."""
        with self._lock:
            return self._newest_file().written_at

    def status(self) -> JobStatus | None:
        """Return the worker's progress, or None if there is no job."""
        return self.worker.status(self._job.key) if self._job else None

    def cancel(self) -> None:
        """Cancel the job, and keep the previous result."""
        if self._job:
            self.worker.cancel(self._job.key)

    def close(self) -> None:
        """Delete the temporary results of a read-only store."""
        with self._lock:
            if self._temporary_directory is not None:
                self._temporary_directory.cleanup()
                self._temporary_directory = None

    def _submit(self, job: Job) -> JobStatus:
        """Submit a job in place of the current job, unless both are equal."""
        with self._lock:
            if self._job is not None and self._job.key != job.key:
                self.cancel()
            self._job = job
            return self.worker.submit(job)

    def _save(self, result: T) -> SavedResult[T]:
        """Save a result that this process computed."""
        with self._lock:
            file = self.file(self._output_directory()) if self.memory.storage.read_only else self._stored_file()
            file.save(result)
            self._saved = SavedResult(result=result, written_at=file.written_at)
            return self._saved

    def _newest_file(self) -> ArtefactFile[T]:
        """Return the store's file, or the one in the temporary directory if that is newer."""
        temporary_directories = [Path(self._temporary_directory.name)] if self._temporary_directory is not None else []
        return max([self._stored_file(), *map(self.file, temporary_directories)], key=lambda file: file.written_at)

    def _stored_file(self) -> ArtefactFile[T]:
        """Return the store's file, which all servers share."""
        return self.file(self._cache_directory).with_shared_state(self.memory.storage.ledger.shared)

    @property
    def _job_arguments(self) -> dict[str, Any]:
        """Arguments of a job for the store and the directory of the result."""
        return {"store": str(self.memory.storage.path.resolve()), "output": str(self._output_directory())}

    @property
    def _cache_directory(self) -> Path:
        return self.memory.storage.path.resolve() / CACHE

    def _output_directory(self) -> Path:
        """Return the directory to write to: the store's, or a temporary one for a read-only store."""
        if not self.memory.storage.read_only:
            return self._cache_directory
        with self._lock:
            if self._temporary_directory is None:
                self._temporary_directory = tempfile.TemporaryDirectory(prefix="atlas-result-")
            return Path(self._temporary_directory.name)
