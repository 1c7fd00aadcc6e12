"""What is plugged in may block, call ATLAS itself, or raise what ends a program: it holds nobody else up."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from atlas.core.types import Task
from atlas.memory.concepts import ChromaConceptLibrary
from atlas.memory.experience import ChromaExperienceMemory
from atlas.memory.system import MemorySystemImpl
from atlas.testing import HashEmbedder
from tests.contract.plain import REFUND, FiveMethods, PlainExperience, attempt, concept

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


class InThreads(FiveMethods):
    """A store whose coroutines work in threads, as those over a client that blocks do."""

    def __init__(self):
        super().__init__()
        self.deleting, self.may_delete = threading.Event(), threading.Event()

    async def delete(self, ids):
        await asyncio.to_thread(self._delete, ids)

    def _delete(self, ids):
        self.deleting.set()
        self.may_delete.wait(60)
        for record_id in ids:
            self.rows.pop(record_id, None)


@pytest.mark.parametrize("n_cancels", [1, 2])
@pytest.mark.parametrize("what", ["count", "edit"])
def test_a_record_that_is_being_replaced_when_nobody_waits_any_more_is_not_lost(what, n_cancels):
    async def use():
        store = InThreads()
        library = ChromaConceptLibrary(HashEmbedder(), store)
        concept_id = await library.aadd(concept())
        changing = library.aupdate_stats(concept_id, True) if what == "count" else library.aedit(concept_id, name="pay")
        task = asyncio.create_task(changing)
        await asyncio.to_thread(store.deleting.wait, 60)
        for _ in range(n_cancels):
            task.cancel()
            await asyncio.sleep(0)
        store.may_delete.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(asyncio.run, library.aupdate_stats(concept_id, True))
        return await library.aget(concept_id)

    changed = asyncio.run(use())
    assert (changed.name, changed.usage_count) == (("refund", 2) if what == "count" else ("pay", 1))
