"""Writers, readers and a follower of one database: whichever of them is killed, or the server, nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import pytest

from tests.support.processes.conversation import hear, tell
from tests.support.processes.workers import COLLECTION, opened
from tests.support.storage.postgres import running

SEED = 20_261_124


class Crowd:
    """Writers without end, readers that look each acknowledged record up, and one that follows the revisions."""

    def __init__(self, start, address, n_writers, n_readers):
        self._start, self._address, self._numbers = start, address, 0
        self.stored, self.refused, self.missed, self.n_found, self.told = {}, [], [], 0, set()
        self._lock = threading.Lock()
        self.writers = [self._write() for _ in range(n_writers)]
        self.readers = [self._begin("ask", address, "indexed") for _ in range(n_readers)]
        self._threads = [threading.Thread(target=self._read, args=(reader,), daemon=True) for reader in self.readers]
        self.follower = self._begin("follow", address)
        self._threads.append(threading.Thread(target=self._follow, daemon=True))
        for thread in self._threads:
            thread.start()

    def kill_writer(self, draw):
        """Kill one at whatever it does now, and start another."""
        writer = self.writers.pop(draw.randrange(len(self.writers)))
        os.kill(writer.pid, signal.SIGKILL)
        self.writers.append(self._write())

    def wait_for(self, n_more, seconds=120.0):
        """Wait for so many more acknowledgements."""
        wanted, end = len(self.stored) + n_more, time.monotonic() + seconds
        while len(self.stored) < wanted:
            assert time.monotonic() < end, "nothing came of it in time"
            time.sleep(0.01)

    def stop(self):
        """Kill the writers, and let the others come to the end of what there is."""
        for writer in self.writers:
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
        with opened(self._address) as memory:
            last = {entry.seq for entry in memory.storage.ledger.vector_changes(COLLECTION, 0)}
        end = time.monotonic() + 60
        while not last <= self.told and time.monotonic() < end:
            time.sleep(0.05)
        for process in (*self.readers, self.follower):
            process.kill()
        return last

    def _begin(self, *arguments):
        process = self._start(*arguments)
        assert hear(process) == "ready"
        return process

    def _write(self):
        self._numbers += 1
        writer = self._begin("write_on", self._address, f"w{self._numbers}")
        tell(writer)
        threading.Thread(target=self._listen, args=(writer,), daemon=True).start()
        return writer

    def _listen(self, writer):
        """Take down what a writer says."""
        while line := hear(writer):
            what, *rest = line.split()
            with self._lock:
                if what == "stored" and len(rest) == 2:
                    self.stored[rest[0]] = rest[1]
                elif what == "refused":
                    self.refused.append(rest[0])

    def _read(self, reader):
        """Have one acknowledged record after another looked up, the newest first."""
        while True:
            with self._lock:
                newest = next(reversed(self.stored.items()), None)
            if newest is None:
                time.sleep(0.01)
                continue
            try:
                tell(reader, " ".join(newest))
            except OSError:
                return
            said = hear(reader)
            if not said:
                return
            if said == "found":
                self.n_found += 1
            else:
                self.missed.append(said)

    def _follow(self):
        while line := hear(self.follower):
            self.told.add(int(line.split()[1]))


@pytest.mark.parametrize(
    ("n_writers", "n_readers", "n_stores", "n_kills", "n_server_kills"),
    [(2, 1, 60, 2, 1), pytest.param(8, 2, 3_000, 100, 5, marks=pytest.mark.slow)],
)
def test_whatever_is_killed_nothing_acknowledged_is_lost_unfindable_or_missed_by_a_follower(
    start, tmp_path, monkeypatch, n_writers, n_readers, n_stores, n_kills, n_server_kills
):
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path / "local"))
    draw = random.Random(SEED)
    with running(fsync=True) as server:
        address = server.address("kills")
        opened(address).close()
        crowd = Crowd(start, address, n_writers, n_readers)
        kills = ["writer"] * n_kills + ["server"] * n_server_kills
        draw.shuffle(kills)
        for kill in kills:
            crowd.wait_for(n_stores // len(kills))
            time.sleep(draw.random() * 0.1)
            if kill == "server":
                server.kill()
                server.start()
            else:
                crowd.kill_writer(draw)
        crowd.wait_for(20)
        there = crowd.stop()
        assert len(crowd.stored) >= n_stores
        assert crowd.missed == []
        assert crowd.n_found > 0
        assert there - crowd.told == set()
        check(address, crowd.stored)
    assert crowd.refused, "no writer was told that the server had gone"


def check(address, stored) -> None:
    """All that was acknowledged is there once, and found."""
    with opened(address, is_indexed=True) as memory:
        held = {row["id"] for row in memory.experience.browse()}
        assert set(stored) - held == set()
        for record_id, name in stored.items():
            hits = memory.experience.search_hits(f"task {name}", 3, count_retrieval=False)
            assert record_id in [hit.item.id for hit in hits], name
        assert [problem for check in memory.storage.ledger.checks() if (problem := check.run())] == []
        n_added = sum(operation.counts["added"] for operation in memory.history(limit=100_000))
        assert n_added == len(held)
