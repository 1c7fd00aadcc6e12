"""Jobs that are ended before they are done."""

from __future__ import annotations

import time

from atlas.jobs.job import Job
from atlas.jobs.worker import Worker

GIVE_UP_SECONDS = 60.0


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
