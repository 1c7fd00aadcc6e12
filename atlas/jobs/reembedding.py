"""Job that re-embeds a whole store with another model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from atlas.core.settings import Settings, settings_for_store
from atlas.jobs.job import encode_job
from atlas.jobs.worker import JobStatus, Worker
from atlas.maps.map import OnProgress
from atlas.memory.open import reembed_store


@dataclass(frozen=True, slots=True, kw_only=True)
class ReembeddingJob:
    """Job that re-embeds a store. The store changes in one transaction at the end."""

    store: str
    model: str

    @property
    def key(self) -> str:
        """Key that is equal for equal jobs."""
        return json.dumps(encode_job(self), sort_keys=True)

    def run(self, on_progress: OnProgress) -> None:
        """Re-embed the store."""
        on_progress(0, 0, "loading the model")
        settings = settings_for_store(Settings.from_environment(), self.store)
        reembed_store(
            settings, self.model, lambda done, total: on_progress(done, total, f"{done:,} of {total:,} texts")
        )


class Reembedding:
    """Re-embedding of one store by the worker."""

    def __init__(self, store: Path, worker: Worker) -> None:
        self.worker = worker
        self._store = str(store.resolve())
        self._job: ReembeddingJob | None = None

    def start(self, model: str) -> JobStatus:
        """Start re-embedding with a model, unless one is running."""
        status = self.status()
        if status is not None and status.state in ("queued", "running"):
            return status
        self._job = ReembeddingJob(store=self._store, model=model)
        return self.worker.submit(self._job)

    def status(self) -> JobStatus | None:
        """Return the progress of re-embedding, or None if none was started or it was cancelled."""
        return self.worker.status(self._job.key) if self._job else None

    def cancel(self) -> None:
        """Cancel the re-embedding. The store stays unchanged."""
        if self._job:
            self.worker.cancel(self._job.key)
