"""Jobs that are ended before they are done, and one that takes as long as a test wants."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas.jobs.artefact import ArtefactFile
from atlas.jobs.duplicates import DuplicatesJob
from atlas.jobs.job import Job
from atlas.jobs.worker import Worker
from atlas.maps.duplicates import Duplicates
from atlas.maps.map import OnProgress
from tests.support.waiting import GIVE_UP_SECONDS


def kill_when_opening(job: Job) -> None:
    """Have a worker begin a job, and end it as soon as it opens the memory."""
    worker = Worker()
    worker.submit(job)
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while (status := worker.status(job.key)) is None or not status.message.startswith("opening"):
        assert status is not None
        assert status.state in ("queued", "running"), status.message
        assert time.monotonic() < deadline, "the worker does not begin"
        time.sleep(0.05)
    worker.cancel(job.key)
    worker.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSearch(DuplicatesJob):
    """A search for near-duplicates that notes who began it, and goes on once a file is there."""

    gate: str

    def make(self, on_progress: OnProgress, file: ArtefactFile[Any]) -> Duplicates:
        on_progress(0, 100, "waiting at the gate")
        with Path(f"{self.gate}.begun").open("a") as begun:
            begun.write(f"{os.getpid()}\n")
        while not Path(self.gate).exists():
            time.sleep(0.02)
        return DuplicatesJob.make(self, on_progress, file)


def begun(gate: Path) -> list[int]:
    """The processes that began a slow search."""
    noted = Path(f"{gate}.begun")
    return [int(line) for line in noted.read_text().split()] if noted.exists() else []
