"""Agents over HTTP and processes on the files write at once while any of them, or the server, is killed.

What was acknowledged is there, is found, and is there once.
"""

from __future__ import annotations

import queue
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

import atlas
from tests.support.browser.server import free_port
from tests.support.processes.served import memory_at
from tests.support.repository import REPOSITORY
from tests.support.waiting import GIVE_UP_SECONDS

SEED = 20_261_123


class Crowd:
    """A server, agents that ask it, and writers on its files, any of which can be killed and is started again."""

    def __init__(self, path, model, pause, n_agents, n_writers):
        self._path, self._model, self._pause = str(path), model, str(pause)
        self._n_agents, self.n_writers = n_agents, n_writers
        self._port = str(free_port())
        self.address = f"http://127.0.0.1:{self._port}"
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._said: queue.Queue[str] = queue.Queue()
        self._ready = threading.Semaphore(0)
        self._numbers = Counter()
        self.acknowledged: dict[str, str] = {}

    def start(self):
        self._serve()
        for number in range(self._n_agents):
            self._start(f"agent{number}", "agent", self.address, f"agent{number}", self._pause)
        for number in range(self.n_writers):
            self._write(f"writer{number}")

    def hear(self, n_lines):
        """Wait for so many more acknowledgements."""
        for _ in range(n_lines):
            record_id, name = self._said.get(timeout=GIVE_UP_SECONDS).split()
            self.acknowledged[record_id] = name

    def heard(self):
        """Those of whom something was acknowledged."""
        return {name.partition("-")[0].partition(".")[0] for name in self.acknowledged.values()}

    def kill(self, name):
        """Kill one at whatever it does now, and start it again."""
        process = self._running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if name == "server":
            self._serve()
        else:
            self._write(name)

    def stop(self):
        """Kill all, and hear what they had said."""
        for process in self._running.values():
            process.send_signal(signal.SIGKILL)
            process.wait()
        for thread in threading.enumerate():
            if thread.name.startswith("hearing"):
                thread.join()
        self.hear(self._said.qsize())

    def _serve(self):
        self._start("server", "serve", self._path, self._model, self._port)
        assert self._ready.acquire(timeout=GIVE_UP_SECONDS), "the server does not start"

    def _write(self, name):
        self._numbers[name] += 1
        self._start(name, "writer", self._path, self._model, f"{name}.{self._numbers[name]}", self._pause)

    def _start(self, name, *arguments):
        command = [sys.executable, "-m", "tests.support.processes.served", *arguments]
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        self._running[name] = process
        threading.Thread(target=self._follow, args=(process,), name=f"hearing {name}", daemon=True).start()

    def _follow(self, process):
        for line in process.stdout:
            if line == "ready\n":
                self._ready.release()
            elif line.endswith("\n"):  # else it was cut off
                self._said.put(line)
        process.stdout.close()


@pytest.fixture
def crowd(tmp_path, request) -> Iterator[Crowd]:
    model, *others = request.param
    memory_at(tmp_path / "store", model).close()
    made = Crowd(tmp_path / "store", model, *others)
    made.start()
    yield made
    for process in made._running.values():
        process.kill()
        process.wait()


def check(path, model, acknowledged):
    """Whatever was acknowledged is held, found by what it says, and held once."""
    with memory_at(path, model) as memory:
        rows = {row["id"]: row["metadata"]["task_id"] for row in memory.experience.browse()}
        assert acknowledged.items() <= rows.items()
        assert [name for name, n in Counter(rows.values()).items() if n > 1] == []
        unfindable = []
        for record_id in acknowledged:
            text = memory.experience.get(record_id).task.description
            hits = memory.experience.retrieve(text, 20, threshold=0.0, count_retrieval=False).hits
            if record_id not in [hit.item.id for hit in hits]:
                unfindable.append(text)
        assert unfindable == []


def strain(crowd, path, model, *, n_kills, n_between):
    draw = random.Random(SEED)
    for kill in range(n_kills):
        crowd.hear(draw.randint(1, 2 * n_between))
        crowd.kill("server" if kill % 2 else f"writer{draw.randrange(crowd.n_writers)}")
    crowd.hear(n_between)
    while not crowd.heard() >= {"agent0", "writer0"}:
        crowd.hear(1)
    crowd.stop()
    check(path, model, crowd.acknowledged)


@pytest.mark.parametrize("crowd", [("hash", 0.05, 2, 1)], indirect=True)
def test_what_was_acknowledged_is_seen_at_once_by_all_and_nothing_is_lost_or_twice_there(crowd, tmp_path):
    crowd.hear(20)
    while len({name[:5] for name in crowd.acknowledged.values()}) < 2:  # on a busy machine some begin late
        crowd.hear(1)
    with memory_at(tmp_path / "store", "hash") as beside, atlas.connect(crowd.address) as served:
        for record_id, name in crowd.acknowledged.items():
            for memory in (beside, served):
                assert memory.experience.get(record_id).task.id == name
                hits = memory.experience.retrieve(f"task {name}", 9, threshold=0.0).hits
                assert record_id in [hit.item.id for hit in hits]
    assert {name[:5] for name in crowd.acknowledged.values()} == {"agent", "write"}
    strain(crowd, tmp_path / "store", "hash", n_kills=2, n_between=20)


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [("hash", 0.1, 4, 2)], indirect=True)
def test_nothing_acknowledged_is_lost_in_twenty_kills(crowd, tmp_path):
    strain(crowd, tmp_path / "store", "hash", n_kills=20, n_between=150)


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [("bundled", 1.0, 4, 2)], indirect=True)
def test_nothing_acknowledged_is_lost_in_twenty_kills_with_the_bundled_model(crowd, tmp_path):
    strain(crowd, tmp_path / "store", "bundled", n_kills=20, n_between=15)
