"""What is plugged in may block, call ATLAS itself, or raise what ends a program: it holds nobody else up."""

from __future__ import annotations

import asyncio
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from atlas.core.types import Strategy, Task
from atlas.memory.concepts.memory import ChromaConceptLibrary
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.system import MemorySystemImpl
from atlas.testing import HashEmbedder
from tests.support.contract.plain import REFUND, FiveMethods, PlainExperience, SixMethods, attempt, concept
from tests.support.waiting import GIVE_UP_SECONDS

N_THREADS = 16
"""More than an event loop has for what blocks, on a machine of few processors."""


def test_sync_memories_that_ask_one_of_ours_are_asked_from_many_threads_at_once():
    inner = ChromaExperienceMemory(HashEmbedder(), FiveMethods())
    all_there = threading.Barrier(N_THREADS, timeout=GIVE_UP_SECONDS)

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


class Steps:
    """The pluggable steps as ordinary methods, each of which asks a memory of ours by its sync method."""

    def __init__(self):
        self.asked = ChromaConceptLibrary(HashEmbedder(), FiveMethods())

    def compose(self, concepts):
        return replace(concepts[0], id="", name=f"composed_{self.asked.count()}")

    def compress(self, trajectories):
        return [concept(name=f"compressed_{self.asked.count()}_of_{len(trajectories)}")]

    def abstract(self, trajectory):
        return Strategy(situation=trajectory.task.description, suggestion=f"look it up {self.asked.count()} times")

    def refine(self, experiences, context=None):
        return experiences[self.asked.count() :][::-1]


def test_strategies_of_memories_may_be_sync():
    steps = Steps()
    library = ChromaConceptLibrary(
        HashEmbedder(), FiveMethods(), composition_strategy=steps, compression_strategy=steps
    )
    ids = [library.add(concept(name=f"f{n}", code=f"def f{n}():\n    return {n}\n")) for n in range(2)]
    assert library.compose(ids).name == "composed_0"
    assert [one.name for one in library.compress([attempt()])] == ["compressed_0_of_1"]
    bank = ChromaStrategyBank(HashEmbedder(), FiveMethods(), steps)
    assert bank.write(attempt()).suggestion == "look it up 0 times"
    assert bank.plan_write([attempt("cancel a flight")]).problems == ()
    memory = ChromaExperienceMemory(HashEmbedder(), FiveMethods(), refine_strategy=steps)
    experiences = [memory.get(memory.store(attempt(f"{REFUND} {n}"))) for n in range(2)]
    assert memory.refine(experiences) == experiences[::-1]


def bare(method):
    """An ordinary decorator, which says nothing of what it decorates."""

    def asked(*given):
        return method(*given)

    return asked


def named(method):
    return functools.wraps(method)(bare(method))


@pytest.mark.parametrize("decorated", [bare, named])
def test_a_stores_methods_may_be_decorated(decorated):
    names = ("add", "query", "get", "delete", "count", "update")
    made = type("Decorated", (SixMethods,), {name: decorated(getattr(SixMethods, name)) for name in names})
    library = ChromaConceptLibrary(HashEmbedder(), made())
    concept_id = library.add(concept())
    library.update_stats(concept_id, True)
    assert [(one.id, one.usage_count) for one in library.search(REFUND)] == [(concept_id, 1)]
    assert len(library) == 1


def test_what_fails_when_nobody_waits_any_more_is_logged_with_the_record(caplog):
    class Full(InThreads):
        async def add(self, *columns):
            if self.deleting.is_set():
                raise OSError("quota exceeded")
            await super().add(*columns)

    async def use():
        store = Full()
        library = ChromaConceptLibrary(HashEmbedder(), store)
        concept_id = await library.aadd(concept())
        counting = asyncio.create_task(library.aupdate_stats(concept_id, True))
        await asyncio.to_thread(store.deleting.wait, 60)
        counting.cancel()
        store.may_delete.set()
        with pytest.raises(asyncio.CancelledError):
            await counting
        while concept_id not in caplog.text:  # the suite's time limit ends a wait for nothing
            await asyncio.sleep(0.01)
        return concept_id

    concept_id = asyncio.run(use())
    assert "a call failed after it was cancelled: the vector store deleted records" in caplog.text
    assert concept_id in caplog.text
