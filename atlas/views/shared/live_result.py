"""What a long job made of a store last: shared by all who look at it, and made anew by a worker."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from threading import RLock
from typing import Any, Generic, TypeVar

from atlas.jobs.artefact import CACHE, ArtefactFile
from atlas.jobs.job import Job
from atlas.jobs.worker import JobStatus, Worker
from atlas.memory.system import MemorySystem

__all__ = ["LiveResult", "Worker"]

T = TypeVar("T")


class LiveResult(ABC, Generic[T]):
    """The result of one kind of job on one store."""

    def __init__(self, memory: MemorySystem, worker: Worker) -> None:
        self.memory = memory
        self.worker = worker
        self._job: Job | None = None
        self._held: tuple[int, T | None] = (0, None)  # when the file read last was written, in nanoseconds
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._lock = RLock()

    @abstractmethod
    def file(self, directory: Path) -> ArtefactFile[T]:
        """The file that the job writes into a directory."""

    def current(self) -> T | None:
        """What was made last; None where nothing was."""
        with self._lock:
            file = self.file(self._directory())
            written_at = file.path.stat().st_mtime_ns if file.path.exists() else 0
            if written_at != self._held[0]:
                self._held = (written_at, file.load())
            return self._held[1]

    def status(self) -> JobStatus | None:
        """How far the worker is; None where it was never asked. Once it is done it lets go of what it has loaded."""
        status = self.worker.status(self._job.key) if self._job else None
        if status is not None and status.state in ("done", "failed") and self.worker.pid is not None:
            self.worker.close()
        return status

    def cancel(self) -> None:
        """Leave it as it was made before."""
        if self._job:
            self.worker.cancel(self._job.key)

    def close(self) -> None:
        """Let go of the worker, and of what was kept for a store that must not be written."""
        self.worker.close()
        with self._lock:
            if self._scratch is not None:
                self._scratch.cleanup()
                self._scratch = None

    def _ask(self, job: Job) -> None:
        """Have the worker do this, in place of what it does now, unless that is the same."""
        with self._lock:
            if self._job is not None and self._job.key != job.key:
                self.cancel()
            self._job = job
            self.worker.submit(job)

    @property
    def _place(self) -> dict[str, Any]:
        """Which store a job reads, and where it keeps what it makes of it."""
        return {"store": str(self.memory.storage.path.resolve()), "out": str(self._directory())}

    def _directory(self) -> Path:
        """Where it is kept: in the store, or elsewhere where that must not be written."""
        if not self.memory.storage.read_only:
            return self.memory.storage.path.resolve() / CACHE
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="atlas-result-")
        return Path(self._scratch.name)
