"""Each method and its async twin are one: the same signature, the same answer."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from atlas.core.errors import InvalidInput
from atlas.memory.concepts.memory import ChromaConceptLibrary
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.journal import Journal
from atlas.memory.journal.conversations import Conversations
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.system import MemorySystemImpl
from atlas.testing import HashEmbedder, MemoryVectorStore
from tests.support.memories import attempt, task

CLASSES = [
    ChromaConceptLibrary,
    Conversations,
    ChromaExperienceMemory,
    ChromaStrategyBank,
    Journal,
    MemorySystemImpl,
]


def public(cls):
    return {name: member for name, member in inspect.getmembers(cls, inspect.isfunction) if not name.startswith("_")}


def twins(cls):
    """Each coroutine method whose name begins with `a`, with the method that is named without it."""
    members = public(cls)
    coroutines = [name for name, member in members.items() if inspect.iscoroutinefunction(member)]
    return [(members.get(name[1:]), members[name]) for name in coroutines if name.startswith("a")]


@pytest.mark.parametrize("cls", CLASSES)
def test_twins_have_the_same_signature(cls):
    for sync, coroutine in twins(cls):
        assert sync is not None, f"{coroutine.__name__} has no sync twin"
        assert inspect.signature(sync) == inspect.signature(coroutine), coroutine.__name__


def test_every_twin_says_whose_it_is():
    pairs = twins(ChromaExperienceMemory)
    assert len(pairs) >= 20
    for sync, coroutine in pairs:
        assert sync.__doc__
        assert coroutine.__doc__.startswith(f"Run `{sync.__name__}` in a thread.")


def test_a_twin_does_what_an_override_says():
    class Mine(ChromaExperienceMemory):
        def count(self, *_, **__):
            return 42

    assert asyncio.run(Mine(HashEmbedder(), MemoryVectorStore()).acount()) == 42


def test_twins_give_the_same(stored):
    async def ask():
        experience_id = await stored.astore(attempt("cancel a flight"))
        found = await stored.asearch(task("cancel a flight"))
        return experience_id, found, await stored.aget(experience_id), await stored.acount()

    experience_id, found, got, count = asyncio.run(ask())
    assert stored.search(task("cancel a flight")) == found == [got]
    assert stored.get(experience_id) == got
    assert len(stored) == count == 1


def test_many_coroutines_may_run_at_once(stored):
    async def ask():
        await asyncio.gather(*[stored.astore(attempt(f"task {i}")) for i in range(20)])
        found = await asyncio.gather(*[stored.asearch(task(f"task {i}"), 1) for i in range(20)])
        return [hits[0].task.description for hits in found]

    assert asyncio.run(ask()) == [f"task {i}" for i in range(20)]


def test_a_sync_method_may_be_called_inside_somebody_elses_loop(stored):
    async def theirs():
        return stored.store(attempt("x"))

    assert len(asyncio.run(theirs())) == 32
    assert len(stored) == 1


def test_an_error_of_the_method_is_the_error_of_its_twin(stored):
    with pytest.raises(InvalidInput, match="expected 1 or more for k, got -2"):
        asyncio.run(stored.aretrieve("x", k=-2))
    with pytest.raises(InvalidInput, match="expected 1 or more for k, got -2"):
        stored.retrieve("x", k=-2)
