"""One process may act for many: the history names each, and each may do what their role says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import atlas
from atlas.core.errors import NotAllowed
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import HashEmbedder
from tests.support.records import attempts

VIEWER = Actor("demo", Role.VIEWER)
WRITER = Actor("crawler", Role.WRITER)
CURATOR = Actor("ada", Role.CURATOR)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[atlas.MemorySystem]:
    """A memory of five attempts, which its owner stored."""
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=atlas.Settings(actor="owner")) as made:
        made.experience.store_many(attempts(5))
        yield made


def strategy(what: str = "a page") -> atlas.Strategy:
    return atlas.Strategy(situation=f"{what} is slow", suggestion="cache it")


REMOVES: dict[str, Callable[[atlas.MemorySystem, str], object]] = {
    "delete": lambda memory, one: memory.experience.delete([one]),
    "prune": lambda memory, _: memory.experience.prune({"max_age_days": 0}),
    "purge": lambda memory, one: memory.apply_purge(memory.plan_purge([one])),
}


def test_looking_as_a_viewer_counts_as_no_retrieval(memory: atlas.MemorySystem):
    with acting(VIEWER):
        found = memory.experience.retrieve("mend the report", 3, threshold=0.0)
    memory.experience.collection.write_retrievals()
    assert found.hits
    assert all(not held.n_retrieved for held in memory.experience.usage(memory.experience.ids()).values())


def test_the_history_names_whoever_it_was_done_for(memory: atlas.MemorySystem):
    with acting(WRITER):
        memory.strategies.add(strategy("a page"))
    memory.strategies.add(strategy("a query"))
    assert [operation.actor for operation in memory.history()] == ["owner", "crawler", "owner"]


def test_threads_of_a_twin_act_for_the_same_one(memory: atlas.MemorySystem):
    import asyncio

    async def write() -> None:
        with acting(WRITER):
            await memory.strategies.aadd(strategy())

    asyncio.run(write())
    assert memory.history(1)[0].actor == "crawler"


def test_two_at_once_are_kept_apart(memory: atlas.MemorySystem):
    ready = threading.Barrier(2)

    def write(actor: Actor) -> None:
        with acting(actor):
            ready.wait()
            memory.strategies.add(strategy(actor.name))

    threads = [threading.Thread(target=write, args=(actor,)) for actor in (WRITER, CURATOR)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {operation.actor for operation in memory.history(2)} == {"crawler", "ada"}


@pytest.mark.parametrize("name", REMOVES)
def test_a_writer_removes_nothing(memory: atlas.MemorySystem, name: str):
    with acting(WRITER), pytest.raises(NotAllowed, match="needs the role"):
        REMOVES[name](memory, memory.experience.ids()[0])
    assert memory.experience.count() == 5


def test_a_writer_undoes_its_own_and_a_curator_all(memory: atlas.MemorySystem):
    with acting(WRITER):
        memory.strategies.add(strategy())
        memory.undo(memory.history(1)[0].id)
        with pytest.raises(NotAllowed, match="undo what others did"):
            memory.undo(memory.history()[-1].id)
    with acting(CURATOR):
        memory.undo(memory.history()[-1].id)
    assert memory.experience.count() == 0
