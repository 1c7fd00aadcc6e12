"""Processes that work on one store at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.processes.conversation import Worker
from tests.support.repository import REPOSITORY
from tests.support.storage.engines import ENGINES


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Directory or address of the test's store, one of each engine."""
    return tmp_path / "store" if request.param == "sqlite" else request.getfixturevalue("postgres_address")


@pytest.fixture
def start() -> Iterator[Callable[..., Worker]]:
    """Starts a job of `tests.support.processes.workers`; a worker that still runs at the end is killed."""
    started: list[Worker] = []

    def start_one(*arguments: object) -> Worker:
        command = [sys.executable, "-W", "error", "-m", "tests.support.processes.workers", *map(str, arguments)]
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
                with suppress(BrokenPipeError):  # a line that a killed worker did not read
                    stream.close()
