"""A child process for long-running jobs, which is reused between jobs and ends with its parent.

The two processes communicate by lines of JSON over the child's stdin and original stdout. The child writes its result
to a file, and only reports that it exists.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal

from atlas.core.errors import AtlasError
from atlas.infra.child_process import import_environment, module_command
from atlas.jobs.job import Job, decode_job, encode_job, kind_of

CLOSING_SECONDS = 5.0
NICENESS = 5
PARENT_CHECK_SECONDS = 2.0


JobState = Literal["queued", "running", "done", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """Progress of a job."""

    state: JobState
    done: int = 0
    total: int = 0
    """Total amount of work. 0 if unknown."""

    message: str = ""
    """Current step, or the reason for a failure."""

    started_seconds: float = field(default=0.0, compare=False)
    """Time on the monotonic clock when the job was sent to the child, in seconds, or 0 before that."""


class Worker:
    """A queue of jobs, which one child process runs one after another. Thread-safe.

    Args:
        stays_warm: Whether the child waits for further jobs. Otherwise it exits after the last one, to free memory.
    """

    def __init__(self, *, stays_warm: bool = True) -> None:
        self._stays_warm = stays_warm
        self._lock = threading.RLock()
        self._child: subprocess.Popen[str] | None = None
        self._jobs: dict[str, Job] = {}
        self._states: dict[str, JobStatus] = {}
        self._is_closed = False
        self._may_retry = False  # the job went to a reused child, which has not reported on it yet
        with _lock:
            _workers.add(self)

    def submit(self, job: Job) -> JobStatus:
        """Submit a job, unless an equal one is queued or running. A finished job runs again."""
        with self._lock:
            status = self._states.get(job.key)
            if status is not None and status.state in ("queued", "running"):
                return status
            self._is_closed = False
            self._jobs.pop(job.key, None)
            self._jobs[job.key], self._states[job.key] = job, JobStatus(state="queued")
            self._start_next()
            return self._states[job.key]

    def count(self, store: Path) -> Counter[tuple[str, JobState]]:
        """Return the number of jobs on a store, keyed by kind and state.

        Args:
            store: Resolved directory of the store.
        """
        with self._lock:
            jobs = [(self._jobs[key], status.state) for key, status in self._states.items()]
        return Counter((kind_of(job), state) for job, state in jobs if Path(job.store).resolve() == store)

    def status(self, key: str) -> JobStatus | None:
        """Return the progress of the job with a key, or None if it was never submitted."""
        with self._lock:
            return self._states.get(key)

    def cancel(self, key: str) -> None:
        """Cancel a job. To cancel a running job, the child is killed, and the next job starts a new child."""
        with self._lock:
            status = self._states.pop(key, None)
            self._jobs.pop(key, None)
            if status is not None and status.state == "running":
                self._kill_child()
            self._start_next()

    def close(self) -> None:
        """Cancel all unfinished jobs and end the child."""
        with self._lock:
            self._is_closed = True
            self._states = {key: status for key, status in self._states.items() if status.state in ("done", "failed")}
            self._kill_child()

    @property
    def pid(self) -> int | None:
        """The child's process id, or None if there is no child."""
        with self._lock:
            return self._child.pid if self._child is not None else None

    def _start_next(self) -> None:
        """Send the next job to the child, unless it is busy."""
        states = self._states
        if self._is_closed or any(status.state == "running" for status in states.values()):
            return
        key = next((key for key in self._jobs if key in states and states[key].state == "queued"), None)
        if key is None:
            if not self._stays_warm:
                self._kill_child()
            return
        line = json.dumps(encode_job(self._jobs[key])) + "\n"
        is_reused = self._child is not None and self._child.poll() is None
        try:
            child = self._child if self._child is not None and is_reused else self._start_child()
            assert child.stdin is not None
            child.stdin.write(line)
            child.stdin.flush()
        except (OSError, ValueError) as error:
            if not is_reused:
                states[key] = JobStatus(state="failed", message=f"The worker process cannot be started ({error}).")
            self._kill_child()
            self._start_next()
            return
        states[key] = JobStatus(state="running", message="starting", started_seconds=time.monotonic())
        self._may_retry = is_reused

    def _start_child(self) -> subprocess.Popen[str]:
        command, pipe = module_command("atlas.jobs.worker"), subprocess.PIPE
        self._child = subprocess.Popen(
            command, env=import_environment(), stdin=pipe, stdout=pipe, text=True, encoding="utf-8", bufsize=1
        )
        threading.Thread(target=self._listen, args=(self._child,), name="atlas-worker", daemon=True).start()
        return self._child

    def _listen(self, child: subprocess.Popen[str]) -> None:
        """Read the messages of a child process, in a thread, until the child ends."""
        assert child.stdin is not None
        assert child.stdout is not None
        for line in child.stdout:
            with self._lock:
                if child is self._child:
                    self._handle_message(json.loads(line))
        code = child.wait()
        for stream in (child.stdin, child.stdout):
            with suppress(OSError):  # it has exited before reading the job
                stream.close()
        with self._lock:
            if child is self._child:
                self._child = None
                self._fail_or_requeue(_describe_exit(code))
                self._start_next()

    def _handle_message(self, message: dict[str, Any]) -> None:
        """Update the status of the running job from a message of the child, and start the next job if it has ended."""
        key = next((key for key, status in self._states.items() if status.state == "running"), None)
        if key is None:
            return
        self._may_retry = False
        status = replace(self._states[key], **message)
        self._states[key] = replace(status, done=status.total) if status.state == "done" else status
        if message.get("state") in ("done", "failed"):
            self._start_next()

    def _fail_or_requeue(self, message: str) -> None:
        """Mark the job that was sent to the child as failed, or requeue it if the child has not started it."""
        retry = JobStatus(state="queued") if self._may_retry else None
        for key, status in self._states.items():
            if status.state == "running":
                self._states[key] = retry or replace(status, state="failed", message=message)

    def _kill_child(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()  # its writes are atomic, so it can be killed at any time
        with suppress(subprocess.TimeoutExpired):
            child.wait(CLOSING_SECONDS)


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()
_lock = threading.Lock()
"""Guards the set of workers."""


def count_jobs(store: Path) -> Counter[tuple[str, JobState]]:
    """Return how many jobs this process has submitted on a store, keyed by kind and state.

    A job that was submitted again is counted once, in its latest state.
    """
    with _lock:
        workers = list(_workers)
    return sum((worker.count(store.resolve()) for worker in workers), Counter())


def _describe_exit(code: int) -> str:
    cause = f"by signal {-code}" if code < 0 else f"with status {code}"
    hint = " Memory may have run out." if code == -9 else ""
    return f"The worker process ended {cause} before it was done.{hint} Try again."


def main() -> None:
    """Run the child: read jobs, run them and report, until the parent exits."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # output of libraries goes to stderr
    sys.stdout = sys.stderr
    with suppress(OSError):
        os.nice(NICENESS)  # lower priority than the pages
    lines: list[str] = []
    has_lines = threading.Condition()
    threading.Thread(target=_read_lines, args=(sys.stdin, lines, has_lines), daemon=True).start()
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
    while True:
        with has_lines:
            has_lines.wait_for(lambda: lines)
            line = lines.pop(0)
        _run_encoded_job(line, output)


def _run_encoded_job(line: str, output: IO[str]) -> None:
    """Run a job, and report its progress and its end to the parent process."""

    def report(**fields: Any) -> None:
        try:
            output.write(json.dumps(fields) + "\n")
        except OSError:
            os._exit(0)  # the parent has ended

    try:
        decode_job(json.loads(line)).run(lambda done, total, message: report(done=done, total=total, message=message))
    except AtlasError as error:
        report(state="failed", message=str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, the person gets a sentence, and the child goes on
        traceback.print_exception(error)  # logged to stderr, as it is a bug
        report(state="failed", message=f"It failed with {type(error).__name__}: {' '.join(str(error).split())}")
    else:
        report(state="done", message="")


def _read_lines(stdin: IO[str], lines: list[str], has_lines: threading.Condition) -> None:
    for line in stdin:
        with has_lines:
            lines.append(line)
            has_lines.notify()
    os._exit(0)  # the parent has closed it or exited, so the current job is useless


def _watch_parent(parent: int) -> None:
    """Exit once the parent process has ended, even if another process, such as a fork, keeps the pipe open."""
    while os.getppid() == parent:
        threading.Event().wait(PARENT_CHECK_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
