"""One vector store given to the three memories, as the specification's signatures suggest."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from uuid import uuid4

import chromadb
import pytest
from chromadb.config import Settings

from atlas.core.errors import InvalidInput
from atlas.infra.bridge import run
from atlas.memory.storage import ChromaVectorStore
from atlas.memory.system import MemorySystemImpl
from atlas.storage.plain.scoped_store import COLLECTION
from tests.support.contract.plain import FiveMethods, FourMethods
from tests.support.contract.plugged import COLLECTIONS, FLIGHT, GRID, HOTEL, attempt, concept, memories_over
from tests.support.memories import DictVectorStore, task


def chroma_client(path=None):
    settings = Settings(anonymized_telemetry=False)
    return chromadb.PersistentClient(str(path), settings) if path else chromadb.EphemeralClient(settings)


class NoCount:
    """A dict store that filters and has the specification's four methods alone."""

    def __init__(self):
        store = DictVectorStore()
        self.add, self.query, self.delete, self.get = store.add, store.query, store.delete, store.get


STORES = {
    "a client": lambda path: ChromaVectorStore(chroma_client(path)),
    "a collection": lambda path: ChromaVectorStore(chroma_client(path), f"shared-{uuid4().hex}"),
    "a dict": lambda path: DictVectorStore(),
    "a store that ignores filters": lambda path: FiveMethods(),
    "a store that cannot count": lambda path: NoCount(),
}


@pytest.fixture(params=STORES)
def shared(request, tmp_path):
    return STORES[request.param](tmp_path / "client")


def filled(store):
    experience, concepts, strategies = memories_over(store)
    stored = [experience.store(attempt(text)) for text in (FLIGHT, HOTEL)]
    concept_id, strategy_id = concepts.add(concept(description=FLIGHT)), strategies.write(attempt()).id
    return (experience, concepts, strategies), (stored, concept_id, strategy_id)


def test_each_memory_finds_gets_and_counts_its_own_records(shared):
    (experience, concepts, strategies), (stored, concept_id, strategy_id) = filled(shared)
    assert [found.id for found in experience.search(task(FLIGHT))] == stored
    assert [found.id for found in concepts.search(FLIGHT)] == [concept_id]
    assert [found.id for found in strategies.read(task(FLIGHT))] == [strategy_id]
    assert (experience.get(stored[0]).task.description, concepts.get(concept_id).name) == (FLIGHT, "turn")
    assert strategies.get(strategy_id).situation == FLIGHT
    assert [experience.get(concept_id), concepts.get(strategy_id), strategies.get(stored[0])] == [None] * 3
    assert [memory.count() for memory in (experience, concepts, strategies)] == [2, 1, 1]
    if isinstance(shared, NoCount):
        with pytest.raises(InvalidInput, match="has no `count`"):
            len(experience)
    else:
        assert [len(memory) for memory in (experience, concepts, strategies)] == [2, 1, 1]


def test_the_async_doors_lead_to_the_same_records(shared):
    async def use():
        experience, concepts, strategies = memories_over(shared)
        stored = await experience.astore(attempt())
        added, written = await concepts.aadd(concept(description=FLIGHT)), await strategies.awrite(attempt())
        await concepts.aupdate_stats(added, True)
        found = await MemorySystemImpl(experience, concepts, strategies).query(task(FLIGHT))
        assert (found.errors, await experience.aget(added), await concepts.acount()) == ({}, None, 1)
        ids = {name: hits[0].item.id for name, hits in vars_of(found).items()}
        assert ids == {"experience": stored, "concepts": added, "strategies": written.id}
        assert (await concepts.aget(added)).usage_count == 1
        assert await experience.aprune({"max_count": 0}) == 1
        assert (await experience.acount(), await concepts.acount(), await strategies.acount()) == (0, 1, 1)

    asyncio.run(use())


def vars_of(found):
    return {"experience": found.experience_hits, "concepts": found.concept_hits, "strategies": found.strategy_hits}


def test_a_memory_changes_and_deletes_its_own_records_alone(shared):
    (experience, concepts, strategies), (stored, concept_id, strategy_id) = filled(shared)
    assert experience.edit(stored[0], solution_output="asked").solution_output == "asked"
    concepts.update_stats(concept_id, True)
    strategies.update_stats(strategy_id, False)
    assert (concepts.get(concept_id).usage_count, strategies.get(strategy_id).usage_count) == (1, 1)
    assert experience.delete([concept_id, strategy_id, stored[1]]) == 1
    assert experience.prune({"max_count": 0}) == 1
    assert [memory.count() for memory in (experience, concepts, strategies)] == [0, 1, 1]
    again = memories_over(shared)
    assert again[1].get(concept_id) == concepts.get(concept_id)
    assert [memory.count() for memory in again] == [0, 1, 1]


def test_many_records_of_another_memory_hide_none(shared):
    experience, concepts, _ = memories_over(shared)
    experience.store_many([attempt(f"{GRID} number {n}") for n in range(60)])
    concept_id = concepts.add(concept())
    assert [found.id for found in concepts.search(GRID, k=1)] == [concept_id]
    assert len(experience.search(task(GRID), k=50)) == 50


def test_a_client_has_one_collection_for_each_name_with_documents_and_metadata(tmp_path):
    client = chroma_client(tmp_path)
    filled(ChromaVectorStore(client))
    names = {collection.name for collection in client.list_collections()}
    assert names == set(COLLECTIONS)
    rows = client.get_collection("atlas_concepts", embedding_function=None).get()
    assert rows["documents"] == [f"turn: {FLIGHT}"]
    assert rows["metadatas"][0]["title"] == "turn"
    memories_over(ChromaVectorStore(client), ("mine", "my_code", "my_advice"))[0].store(attempt())
    assert client.get_collection("mine", embedding_function=None).count() == 1


READ = """
import sys, chromadb
from chromadb.config import Settings
from atlas.memory.storage import ChromaVectorStore
from tests.support.contract.plugged import FLIGHT, memories_over
from tests.support.memories import task
client = chromadb.PersistentClient(sys.argv[1], Settings(anonymized_telemetry=False))
experience, concepts, strategies = memories_over(ChromaVectorStore(client, *sys.argv[2:]))
print(len(experience), len(concepts), len(strategies), strategies.read(task(FLIGHT))[0].situation)
concepts.delete(concepts.ids())
"""


@pytest.mark.parametrize("name", [(), ("shared",)])
def test_another_process_reads_and_changes_the_same_records(tmp_path, name):
    memories, _ = filled(ChromaVectorStore(chroma_client(tmp_path), *name))
    command = [sys.executable, "-W", "ignore", "-c", READ, str(tmp_path), *name]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines() == [f"2 1 1 {FLIGHT}"]
    assert memories[1].ids() == []


def unmarked(store):
    """The same records as an earlier version wrote them."""
    for row in store.rows.values():
        row["metadata"] = {name: value for name, value in row["metadata"].items() if name != COLLECTION}


def test_records_that_have_no_mark_yet_are_read_by_the_memory_that_they_are_of():
    store = DictVectorStore()
    _, (stored, concept_id, strategy_id) = filled(store)
    unmarked(store)
    experience, concepts, strategies = memories_over(store)
    new = experience.store(attempt(GRID))
    assert {found.id for found in experience.search(task(FLIGHT))} == {*stored, new}
    assert (concepts.ids(), strategies.ids()) == ([concept_id], [strategy_id])
    concepts.update_stats(concept_id, True)
    assert store.rows[concept_id]["metadata"][COLLECTION] == "atlas_concepts"


def test_what_an_earlier_version_wrote_to_one_collection_is_named_and_read(tmp_path):
    client = chroma_client(tmp_path)
    store = ChromaVectorStore(client, "atlas")
    _, (stored, _, _) = filled(store)
    rows = run(store.get([*stored]))
    bare = [{name: value for name, value in row["metadata"].items() if name != COLLECTION} for row in rows]
    run(store.update(stored, [row["embedding"] for row in rows], bare, [row["document"] for row in rows]))
    with pytest.raises(InvalidInput, match=r"wrap the client in ChromaVectorStore\(client, 'atlas'\)"):
        memories_over(ChromaVectorStore(client))
    experience = memories_over(ChromaVectorStore(client, "atlas"))[0]
    assert {found.id for found in experience.search(task(FLIGHT))} == set(stored)


def test_a_collection_that_holds_other_things_is_left_alone(tmp_path):
    client = chroma_client(tmp_path)
    client.create_collection("atlas").add(ids=["a"], embeddings=[[1.0, 0.0]], metadatas=[{"kind": "map"}])
    memories_over(ChromaVectorStore(client))[0].store(attempt())
    assert client.get_collection("atlas").count() == 1


def test_a_store_that_ignores_filters_and_cannot_count_is_asked_for_more():
    (experience, concepts, _), (_, concept_id, _) = filled(FourMethods())
    assert [found.id for found in concepts.search(FLIGHT, k=1)] == [concept_id]
    assert len(experience.search(task(FLIGHT), k=2)) == 2
