"""What is plugged in may block, call ATLAS itself, or raise what ends a program: it holds nobody else up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from atlas.core.types import Task
from atlas.memory.experience import ChromaExperienceMemory
from atlas.memory.system import MemorySystemImpl
from atlas.testing import HashEmbedder
from tests.contract.plain import REFUND, FiveMethods, PlainExperience, attempt

N_THREADS = 16
"""More than an event loop has for what blocks, on a machine of few processors."""


def test_sync_memories_that_ask_one_of_ours_are_asked_from_many_threads_at_once():
    inner, all_there = ChromaExperienceMemory(HashEmbedder(), FiveMethods()), threading.Barrier(N_THREADS, timeout=30)

    class Delegating(PlainExperience):
        def store(self, trajectory):
            return inner.store(trajectory)

        def search(self, task, k=4):
            all_there.wait()
            return inner.search(task, k)

    system = MemorySystemImpl(Delegating())
    stored = system.store(attempt())["experience"]
    with ThreadPoolExecutor(N_THREADS) as threads:
        found = list(threads.map(system.query_sync, [Task("t", "airline", REFUND)] * N_THREADS))
    assert [(one.errors, one.ids["experience"]) for one in found] == [({}, (stored,))] * N_THREADS
