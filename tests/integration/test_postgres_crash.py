"""A database server that is killed, under writers and readers, loses nothing that was acknowledged."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import pytest

from tests.support.processes.conversation import hear, start_together
from tests.support.processes.workers import opened
from tests.support.storage.postgres import running

N_WRITERS = 3


@pytest.mark.parametrize("n_kills", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_a_server_that_is_killed_loses_nothing_that_was_acknowledged(start, tmp_path, monkeypatch, n_kills):
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path / "local"))
    draw, stored, refused = random.Random(3), {}, []
    with running(fsync=True) as server:
        address = server.address("kills")
        opened(address).close()
        writers = [start("write_on", address, f"w{i}") for i in range(N_WRITERS)]
        start_together(writers)
        threads = [threading.Thread(target=listen, args=(writer, stored, refused), daemon=True) for writer in writers]
        for thread in threads:
            thread.start()
        for _ in range(n_kills):
            n_before = len(stored)
            wait_until(lambda n=n_before: len(stored) > n + 20)
            time.sleep(draw.random() * 0.2)
            server.kill()
            server.start()
        n_before = len(stored)
        wait_until(lambda: len(stored) > n_before + 20)
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
        for thread in threads:
            thread.join()
        check(address, stored)
    assert refused, "no writer was told that the server had gone"


def wait_until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing came of it in time"
        time.sleep(0.01)


def listen(writer, stored, refused) -> None:
    """Take down what a writer says."""
    while line := hear(writer):
        what, *rest = line.split()
        if what == "stored":
            stored[rest[0]] = rest[1]
        else:
            refused.append(rest[0])


def check(address, stored) -> None:
    """All that was acknowledged is there once, and found."""
    with opened(address) as memory:
        held = {row["id"] for row in memory.experience.browse()}
        assert set(stored) - held == set()
        for record_id, name in stored.items():
            hits = memory.experience.search_hits(f"task {name}", 3, count_retrieval=False)
            assert record_id in [hit.item.id for hit in hits], name
        assert [one.look() for one in memory.storage.ledger.checks()] == [""] * 5
        n_added = sum(operation.counts["added"] for operation in memory.history(limit=100_000))
        assert n_added == len(held)
