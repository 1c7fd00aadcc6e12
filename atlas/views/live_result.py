"""What a long job made of a store last: shared by all who look at it, and made anew by a worker."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from threading import RLock
from typing import Generic, Protocol, TypeVar

from atlas.analysis.artefacts import CACHE
from atlas.analysis.jobs import Job
from atlas.analysis.worker import JobStatus, Worker
from atlas.memory.system import MemorySystem

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ResultFile(Protocol[T_co]):
    """A file that a job writes."""

    path: Path

    def load(self) -> T_co | None:
        """What it says; None where it is not there, or cannot be read."""
        ...


class LiveResult(ABC, Generic[T]):
    """The result of one kind of job on one store."""

    def __init__(self, memory: MemorySystem, worker: Worker) -> None:
        self.memory = memory
        self.worker = worker
        self._held: tuple[int, T | None] = (0, None)  # when the file read last was written, in nanoseconds
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._lock = RLock()

    @abstractmethod
    def make_job(self, directory: Path) -> Job:
        """What makes it, and puts it into a directory."""

    @abstractmethod
    def file(self, directory: Path) -> ResultFile[T]:
        """The file that the job writes there."""

    def current(self) -> T | None:
        """What was made last; None where nothing was."""
        with self._lock:
            file = self.file(self._directory())
            written_at = file.path.stat().st_mtime_ns if file.path.exists() else 0
            if written_at != self._held[0]:
                self._held = (written_at, file.load())
            return self._held[1]

    def run(self) -> None:
        """Have the worker make it."""
        self.worker.submit(self._job)

    def status(self) -> JobStatus | None:
        """How far the worker is; None where it was never asked. Once it is done it lets go of what it has loaded."""
        status = self.worker.status(self._job.key)
        if status is not None and status.state in ("done", "failed") and self.worker.pid is not None:
            self.worker.close()
        return status

    def cancel(self) -> None:
        """Leave it as it was made before."""
        self.worker.cancel(self._job.key)

    def close(self) -> None:
        """Let go of the worker, and of what was kept for a store that must not be written."""
        self.worker.close()
        with self._lock:
            if self._scratch is not None:
                self._scratch.cleanup()
                self._scratch = None

    @property
    def _job(self) -> Job:
        return self.make_job(self._directory())

    def _directory(self) -> Path:
        """Where it is kept: in the store, or elsewhere where that must not be written."""
        if not self.memory.storage.read_only:
            return self.memory.storage.path.resolve() / CACHE
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="atlas-result-")
        return Path(self._scratch.name)
