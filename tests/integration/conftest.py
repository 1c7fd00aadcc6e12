"""Processes that work on one store at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
Worker = subprocess.Popen[str]


@pytest.fixture
def start() -> Iterator[Callable[..., Worker]]:
    """Starts `workers.py`; a worker that still runs at the end is killed."""
    started: list[Worker] = []

    def start_one(*arguments: object) -> Worker:
        command = [sys.executable, "-W", "error", "-m", "tests.integration.workers", *map(str, arguments)]
        pipe = subprocess.PIPE
        worker = subprocess.Popen(command, cwd=REPOSITORY, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        started.append(worker)
        return worker

    yield start_one
    for worker in started:
        worker.kill()
        worker.wait()
        for stream in (worker.stdin, worker.stdout):
            if stream:
                stream.close()


def tell(worker: Worker, line: str = "go") -> None:
    assert worker.stdin
    worker.stdin.write(line + "\n")
    worker.stdin.flush()


def hear(worker: Worker) -> str:
    """The next line that a worker says; empty once it is done."""
    assert worker.stdout
    return worker.stdout.readline().strip()


def start_together(workers: list[Worker]) -> None:
    """Let workers go at the same moment, once all are ready."""
    for worker in workers:
        assert hear(worker) == "ready"
    for worker in workers:
        tell(worker)
