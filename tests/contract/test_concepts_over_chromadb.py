"""The concept library over a collection of chromadb, wrapped as a user would: the specification's five coroutines."""

from __future__ import annotations

from uuid import uuid4

import chromadb
import pytest
from chromadb.config import Settings

from atlas.core.hits import QueryResult
from atlas.core.types import CodeConcept
from atlas.learning.composition import PipelineCompositionStrategy
from atlas.memory.concepts.memory import ChromaConceptLibrary
from atlas.primitives.arc.loader import ARCPrimitiveLoader
from atlas.testing import HashEmbedder

CROP = CodeConcept(
    name="crop", description="cut a box out", code="def crop(grid, top):\n    return grid[top:]\n", found_in=("e1",)
)
TWICE = CodeConcept(
    name="crop_twice",
    description="cut it two times",
    code="def crop_twice(grid, top):\n    return crop(crop(grid, top), top)\n",
    composed_of=(CROP.id,),
)


class Wrapped:
    """A collection with the five methods, awaited."""

    def __init__(self, collection: chromadb.Collection) -> None:
        self.held = collection

    async def add(self, ids, embeddings, metadatas, documents):
        self.held.add(ids=ids, embeddings=embeddings, metadatas=metadatas, documents=documents)

    async def query(self, embedding, k, where=None):
        found = self.held.query(query_embeddings=[embedding], n_results=k, where=where)
        return QueryResult(**{name: found[name][0] for name in ("ids", "distances", "metadatas", "documents")})

    async def delete(self, ids):
        self.held.delete(ids=ids)

    async def get(self, ids):
        found = self.held.get(ids=ids, include=["embeddings", "metadatas", "documents"])
        columns = zip(found["ids"], found["embeddings"], found["metadatas"], found["documents"], strict=True)
        return [{"id": one, "embedding": e, "metadata": m, "document": d} for one, e, m, d in columns]

    async def count(self):
        return self.held.count()


@pytest.fixture
def wrapped():
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    return Wrapped(client.create_collection(f"concepts-{uuid4().hex}", metadata={"hnsw:space": "cosine"}))


def test_concepts_are_added_found_edited_followed_and_deleted(wrapped):
    library = ChromaConceptLibrary(HashEmbedder(), wrapped)
    assert library.search("anything") == []
    assert library.add_many([CROP, TWICE]) == [CROP.id, TWICE.id]
    assert len(library) == 2
    assert library.search("cut a box out", k=1) == [library.get(CROP.id)]
    assert [one.name for one in library.depends_on(TWICE.id)] == ["crop"]
    uses = library.uses(CROP.id)
    assert (uses.found_in, uses.called_by, uses.part_of) == (("e1",), (TWICE.id,), (TWICE.id,))
    assert library.edit(CROP.id, description="drop the rows above").description == "drop the rows above"
    assert library.search("drop the rows above", k=1)[0].id == CROP.id
    assert library.delete([CROP.id]) == 1
    assert (library.get(CROP.id), library.depends_on(TWICE.id)) == (None, [])


def test_uses_are_kept_in_the_collections_metadata(wrapped):
    library = ChromaConceptLibrary(HashEmbedder(), wrapped)
    library.add_many([CROP, TWICE])
    for success in (True, True, False):
        library.update_stats(CROP.id, success)
    [said] = wrapped.held.get(ids=[CROP.id])["metadatas"]
    assert (said["usage_count"], said["success_rate"]) == (3, pytest.approx(2 / 3))
    used = library.get(CROP.id)
    assert (used.usage_count, used.success_rate) == (3, pytest.approx(2 / 3))
    assert library.search("cut a box out", k=1) == [used]
    assert library.get(TWICE.id).usage_count == 0


def test_primitives_are_loaded_once_and_composed(wrapped):
    for _ in range(2):
        library = ChromaConceptLibrary(
            HashEmbedder(), wrapped, ARCPrimitiveLoader(), composition_strategy=PipelineCompositionStrategy()
        )
    assert len(library) == len(ARCPrimitiveLoader().load())
    assert library.add(library.compose(["arc_rotate_90", "arc_mirror_horizontal"]))
    assert library.ids({"source": "composed"}) == [library.search("rotate 90 then mirror horizontal", k=1)[0].id]
